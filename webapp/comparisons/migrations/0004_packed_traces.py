"""Forwards, existing chunks stay as they are, because both forms are read. Backwards, packed ones are unpacked."""

from django.db import migrations, models

from webapp.comparisons.packing import unpack


def unpack_all(apps, schema_editor):
    chunks = apps.get_model("comparisons", "TraceChunk").objects
    for chunk in chunks.exclude(packed=None).iterator(100):
        events, words = unpack(chunk.packed)
        chunks.filter(pk=chunk.pk).update(events=events, words=words)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0003_figures")]

    operations = [
        migrations.AddField("tracechunk", "packed", models.BinaryField(null=True)),
        migrations.AlterField("tracechunk", "events", models.JSONField(default=list)),
        migrations.RunPython(migrations.RunPython.noop, unpack_all),
    ]

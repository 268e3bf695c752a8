"""Figures have goodput and more waiting times. All comparisons are summed up again."""

from django.db import migrations, models


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0010_endpoints")]

    operations = [
        *(
            migrations.AddField(model_name="figures", name=name, field=models.FloatField(null=True))
            for name in ("goodput", "queued_p95", "gap_p95", "e2e_p95")
        ),
        migrations.RunPython(forget, migrations.RunPython.noop),
    ]

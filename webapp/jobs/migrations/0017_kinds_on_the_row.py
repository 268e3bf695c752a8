"""Write the facts of a job's kind on its row; the table has no list of kinds any more."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0016_light_queue")]

    operations = [
        migrations.RemoveConstraint("job", "job_kind_is_known"),
        migrations.AlterField("job", "kind", models.CharField(max_length=40)),
        migrations.AddField("job", "kind_label", models.CharField(max_length=40, default="")),
        migrations.AddField("job", "parts", models.CharField(max_length=20, default="")),
        migrations.AddField("job", "is_sized", models.BooleanField(default=False)),
        migrations.AddField("job", "keeps_parts", models.BooleanField(default=False)),
        migrations.AddField("job", "page", models.CharField(blank=True, max_length=40, default="")),
        migrations.AddField("job", "arguments", models.JSONField(default=dict)),
    ]

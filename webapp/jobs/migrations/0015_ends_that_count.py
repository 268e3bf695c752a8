from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0014_worker_memory")]

    operations = [
        migrations.RemoveConstraint("job", "job_attempts_are_limited"),
        # On the way back a job may have had more attempts than the old limit allows.
        migrations.AlterField("job", "attempt_limit", models.PositiveSmallIntegerField(default=32767)),
        migrations.RemoveField("job", "attempt_limit"),
        migrations.RemoveField("job", "spared"),
        migrations.AlterField("job", "attempt", models.PositiveIntegerField(default=0)),
        migrations.AlterField("reading", "attempt", models.PositiveIntegerField()),
        migrations.AddField("job", "at", models.CharField(blank=True, max_length=200)),
        migrations.AddField("job", "blamed", models.JSONField(default=list)),
        migrations.AddField("job", "setbacks", models.PositiveIntegerField(default=0)),
        migrations.AddField("job", "not_before", models.DateTimeField(null=True)),
        migrations.AddField("worker", "marks", models.JSONField(default=dict)),
    ]

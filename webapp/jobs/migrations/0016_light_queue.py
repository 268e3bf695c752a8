"""A queue for jobs that measure nothing. On the way back its jobs go to `cpu`, whose workers do them as well."""

from django.conf import settings
from django.db import migrations, models


def back_to_cpu(apps, schema_editor):
    apps.get_model("jobs", "Job").objects.filter(queue="light").update(queue="cpu")
    apps.get_model("jobs", "Pause").objects.filter(queue="light").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0015_ends_that_count"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="job",
            name="job_queue_is_known",
        ),
        migrations.AlterField(
            model_name="job",
            name="queue",
            field=models.CharField(choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")], max_length=10),
        ),
        migrations.AlterField(
            model_name="pause",
            name="queue",
            field=models.CharField(
                choices=[("cpu", "CPU"), ("gpu", "GPU"), ("light", "Light")], max_length=10, unique=True
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("queue__in", ["cpu", "gpu", "light"])), name="job_queue_is_known"
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, back_to_cpu),
    ]

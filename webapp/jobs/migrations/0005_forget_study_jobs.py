"""Nothing on the way forth. On the way back, jobs of kinds that the tables before did not know must go first; in a
migration of its own, because PostgreSQL alters no table in which rows were deleted in the same transaction."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("jobs", "Job").objects.filter(kind__in=["oracle", "plan"]).delete()


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_study_jobs")]

    operations = [migrations.RunPython(migrations.RunPython.noop, forget)]

"""Nothing on the way forth. On the way back, jobs of kinds that the tables before did not know must go first."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("jobs", "Job").objects.filter(kind__in=["unpack", "count-tokens"]).delete()


class Migration(migrations.Migration):
    dependencies = [("jobs", "0009_unpack_and_count")]

    operations = [migrations.RunPython(migrations.RunPython.noop, forget)]

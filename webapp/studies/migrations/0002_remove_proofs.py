"""Remove proofs of plans, a kind of study that is gone, and their jobs."""

from django.db import migrations


def remove(apps, schema_editor):
    apps.get_model("studies", "Study").objects.filter(job__kind="proof").delete()
    apps.get_model("jobs", "Job").objects.filter(kind="proof").delete()


class Migration(migrations.Migration):
    dependencies = [("studies", "0001_initial"), ("jobs", "0001_initial")]

    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]

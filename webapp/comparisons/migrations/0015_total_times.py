"""Sum up all comparisons again: from definitions 4 on, a speed-up is the ratio of total times."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0014_indexes_of_lists")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]

"""Recompute the figures of all comparisons: from definitions 2 on, intervals hold for all strategies at once."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0005_no_interval_of_few_prompts")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]

"""Take the interval from the baseline's own speed-up, which is 1 by definition."""

from django.db import migrations


def forget(apps, schema_editor):
    own = apps.get_model("comparisons", "Figures").objects.filter(speedup=1, speedup_low=1, speedup_high=1)
    own.update(speedup_low=None, speedup_high=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0001_initial")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]

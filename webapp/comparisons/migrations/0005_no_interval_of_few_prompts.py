"""Let the sweep recompute figures of so few prompts that no interval is true of them."""

from django.db import migrations
from django.db.models import F


def forget(apps, schema_editor):
    comparisons = apps.get_model("comparisons", "Comparison").objects
    few = comparisons.filter(runs__figures__sample_count__lt=6 * F("repeats"), runs__figures__speedup_low__isnull=False)
    comparisons.filter(pk__in=few.values("pk")).update(summed=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0004_packed_traces")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]

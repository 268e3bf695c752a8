"""Sum up all comparisons again: from definitions 3 on, tokens per second under load are divided by devices."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("comparisons", "Comparison").objects.update(summed=None)


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0012_prices")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]

"""Measured speed-ups of older studies, which have a median alone, get it as their ratio too."""

from django.db import migrations


def name_ratios(found):
    """Add the ratio to every speed-up in a document. Return whether there was one without it."""
    if isinstance(found, list):
        return any([name_ratios(each) for each in found])
    if not isinstance(found, dict):
        return False
    is_old = {"median", "low", "high", "prompts"} == set(found)
    if is_old:
        found["ratio"] = found["median"]
    return any([is_old, *(name_ratios(each) for each in found.values())])


def forth(apps, schema_editor):
    for study in apps.get_model("studies", "Study").objects.filter(document__isnull=False).iterator():
        if name_ratios(study.document):
            study.save(update_fields=["document"])


class Migration(migrations.Migration):
    dependencies = [("studies", "0004_designs")]

    operations = [migrations.RunPython(forth, migrations.RunPython.noop)]

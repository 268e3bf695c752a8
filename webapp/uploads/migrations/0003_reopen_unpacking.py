"""Nothing to do forwards. Backwards, reopen uploads in states that the older tables do not know."""

from django.db import migrations


def reopen(apps, schema_editor):
    apps.get_model("uploads", "Upload").objects.filter(state__in=["unpacking", "refused"]).update(state="open")


class Migration(migrations.Migration):
    dependencies = [("uploads", "0002_unpacking")]

    operations = [migrations.RunPython(migrations.RunPython.noop, reopen)]

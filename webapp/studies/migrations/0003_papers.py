from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the parts of a study that another attempt goes on with."""

    dependencies = [("studies", "0002_classifiers")]

    operations = [migrations.AddField("study", "parts", models.JSONField(default=dict))]

"""A comparison keeps the prices that it weighed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0011_waiting_times")]

    operations = [migrations.AddField(model_name="comparison", name="prices", field=models.JSONField(default=dict))]

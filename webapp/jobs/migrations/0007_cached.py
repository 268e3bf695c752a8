from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0006_readings")]

    operations = [migrations.AddField("worker", "cached", models.JSONField(default=list))]

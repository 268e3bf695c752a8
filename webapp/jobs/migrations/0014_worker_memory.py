from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0013_done_before")]

    operations = [migrations.AddField("worker", "memory", models.BigIntegerField(null=True))]

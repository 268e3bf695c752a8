from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0011_two_devices")]

    operations = [
        migrations.AddField("job", "spared", models.PositiveSmallIntegerField(default=0)),
    ]

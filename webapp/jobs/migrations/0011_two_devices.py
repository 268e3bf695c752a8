from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0010_forget_unpack_and_count")]

    operations = [
        migrations.AddField("job", "device_count", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField("worker", "machine", models.CharField(blank=True, max_length=80)),
    ]

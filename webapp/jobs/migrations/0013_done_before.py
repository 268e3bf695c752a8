from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0012_spared")]

    operations = [
        migrations.AddField("job", "done_before", models.PositiveIntegerField(default=0)),
    ]

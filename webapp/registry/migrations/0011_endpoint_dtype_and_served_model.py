from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0010_endpoints"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="dtype",
            field=models.CharField(blank=True, default="", max_length=20),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="serves",
            field=models.CharField(blank=True, default="", editable=False, max_length=500),
        ),
    ]

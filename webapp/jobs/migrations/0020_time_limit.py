from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0019_steps_setbacks_and_clocks"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="limit_s",
            field=models.PositiveIntegerField(default=172800),
        ),
    ]

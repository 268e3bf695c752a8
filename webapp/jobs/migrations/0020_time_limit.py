from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_squashed_0018_fill_in_kinds"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="limit_s",
            field=models.PositiveIntegerField(default=172800),
        ),
    ]

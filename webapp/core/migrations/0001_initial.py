import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("core", "0002_facts"), ("core", "0003_tallies"), ("core", "0002_no_stored_answers")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Fact",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("value", models.CharField(blank=True, max_length=100)),
                ("at", models.DateTimeField(default=django.db.models.functions.datetime.Now)),
            ],
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("kind", models.CharField(blank=True, max_length=40)),
                ("cause", models.CharField(blank=True, max_length=40)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("latest", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("name", "kind", "cause"), name="one_tally_per_cause")],
            },
        ),
    ]

import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("core", "0002_facts"), ("core", "0003_tallies")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Answer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asker", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=128)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("location", models.CharField(blank=True, max_length=300)),
                ("body", models.JSONField(default=dict)),
                ("created", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("asker", "key"), name="answer_once_per_asker_and_key")],
            },
        ),
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

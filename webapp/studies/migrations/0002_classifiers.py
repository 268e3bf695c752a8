import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Take over classifiers and their training from registry. Their tables stay as they are, names included."""

    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0016_light_queue"),
        ("registry", "0005_training_limit"),
        ("studies", "0001_initial"),
        ("uploads", "0003_reopen_unpacking"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Classifier",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                        ("name", models.CharField(max_length=200)),
                        ("frozen", models.DateTimeField(editable=False, null=True)),
                        ("binned", models.DateTimeField(editable=False, null=True)),
                        ("metrics", models.JSONField(default=dict)),
                        ("card", models.JSONField(default=dict)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "pair",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="classifiers",
                                to="registry.pair",
                            ),
                        ),
                        (
                            "team",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="%(class)ss",
                                to="accounts.team",
                            ),
                        ),
                        (
                            "upload",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="uploads.upload"
                            ),
                        ),
                    ],
                    options={
                        "db_table": "registry_classifier",
                    },
                ),
                migrations.CreateModel(
                    name="Training",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                        ("name", models.CharField(max_length=200)),
                        ("limit", models.PositiveIntegerField(null=True)),
                        ("sampling", models.JSONField()),
                        (
                            "classifier",
                            models.OneToOneField(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="training",
                                to="studies.classifier",
                            ),
                        ),
                        (
                            "dataset",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.dataset"
                            ),
                        ),
                        (
                            "job",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE, related_name="training", to="jobs.job"
                            ),
                        ),
                        (
                            "pair",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="registry.pair"
                            ),
                        ),
                    ],
                    options={
                        "db_table": "registry_training",
                    },
                ),
                migrations.AddIndex(
                    model_name="classifier",
                    index=models.Index(fields=["team", "-created"], name="classifiers_by_team"),
                ),
            ]
        )
    ]

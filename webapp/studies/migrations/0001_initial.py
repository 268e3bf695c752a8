import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("studies", "0002_classifiers"),
        ("studies", "0003_papers"),
        ("studies", "0004_designs"),
        ("studies", "0005_ratios"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0001_initial"),
        ("registry", "0001_initial"),
        ("uploads", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Study",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("split", models.CharField(blank=True, max_length=20)),
                ("sampling", models.JSONField()),
                ("limit", models.PositiveIntegerField()),
                ("lookahead", models.PositiveSmallIntegerField(default=5)),
                ("document", models.JSONField(null=True)),
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
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="studies", to="registry.dataset"
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="study", to="jobs.job"
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="studies", to="registry.pair"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
                    ),
                ),
                ("parts", models.JSONField(default=dict)),
            ],
            options={
                "verbose_name": "study",
                "indexes": [models.Index(fields=["team", "-created"], name="studies_by_team")],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("limit__gte", 1)), name="study_has_prompts"),
                    models.CheckConstraint(
                        condition=models.Q(("lookahead__range", (1, 64))), name="study_lookahead_is_bounded"
                    ),
                ],
            },
        ),
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="classifiers", to="registry.pair"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
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
                "indexes": [models.Index(fields=["team", "-created"], name="classifiers_by_team")],
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
                ("design", models.CharField(default="ours", max_length=20)),
                (
                    "start",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="studies.classifier",
                    ),
                ),
            ],
            options={
                "db_table": "registry_training",
            },
        ),
    ]

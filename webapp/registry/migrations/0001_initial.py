import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("registry", "0001_squashed_0005_training_limit"),
        ("registry", "0002_training"),
        ("registry", "0003_cards"),
        ("registry", "0004_token_lengths"),
        ("registry", "0005_training_limit"),
        ("registry", "0006_classifiers_are_in_studies"),
        ("registry", "0007_target_alone"),
        ("registry", "0008_other_tokenizer"),
        ("registry", "0009_chats"),
        ("registry", "0010_endpoints"),
        ("registry", "0011_endpoint_dtype_and_served_model"),
        ("registry", "0012_whole_sets"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0001_initial"),
        ("uploads", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Dataset",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("file_name", models.CharField(max_length=255)),
                ("form", models.CharField(blank=True, max_length=40)),
                ("template", models.TextField(blank=True)),
                ("mapping", models.JSONField(default=dict)),
                ("prompt_count", models.PositiveIntegerField()),
                ("splits", models.JSONField(default=dict)),
                ("categories", models.JSONField(default=dict)),
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
                ("is_whole", models.BooleanField(default=True, editable=False)),
            ],
            options={
                "verbose_name": "prompt set",
                "indexes": [models.Index(fields=["team", "-created"], name="datasets_by_team")],
            },
        ),
        migrations.CreateModel(
            name="LanguageModel",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                (
                    "source",
                    models.CharField(choices=[("upload", "Upload"), ("hub", "Hub"), ("path", "Path")], max_length=10),
                ),
                ("location", models.CharField(blank=True, max_length=300)),
                ("revision", models.CharField(blank=True, max_length=100)),
                (
                    "state",
                    models.CharField(
                        choices=[("checking", "Checking"), ("ready", "Ready"), ("refused", "Refused")],
                        default="checking",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("facts", models.JSONField(default=dict)),
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
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
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
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="uploads.upload"
                    ),
                ),
            ],
            options={
                "verbose_name": "model",
                "indexes": [models.Index(fields=["team", "-created"], name="models_by_team")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["checking", "ready", "refused"])), name="model_state_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("location", ""), ("source", "upload"), ("upload__isnull", False)),
                            models.Q(
                                ("source__in", ["hub", "path"]),
                                ("upload", None),
                                models.Q(("location", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="model_has_exactly_one_source",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pair",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("findings", models.JSONField(default=list)),
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
                    "draft",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pairs_as_draft",
                        to="registry.languagemodel",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pairs_as_target",
                        to="registry.languagemodel",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
                    ),
                ),
                ("other_tokenizer", models.CharField(default="auto", max_length=4)),
            ],
            options={
                "indexes": [models.Index(fields=["team", "-created"], name="pairs_by_team")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("other_tokenizer__in", ("auto", "tli", "slem"))),
                        name="pair_other_tokenizer_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Prompt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("category", models.CharField(blank=True, max_length=200)),
                ("split", models.CharField(blank=True, max_length=20)),
                ("reference", models.TextField(blank=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="prompts", to="registry.dataset"
                    ),
                ),
                ("at", models.FloatField(null=True)),
                ("chat", models.JSONField(null=True)),
                ("max_tokens", models.PositiveIntegerField(null=True)),
            ],
            options={
                "ordering": ["number"],
                "constraints": [models.UniqueConstraint(fields=("dataset", "number"), name="one_prompt_per_number")],
            },
        ),
        migrations.CreateModel(
            name="TokenLengths",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("document", models.JSONField(null=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="token_lengths", to="registry.dataset"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
                    ),
                ),
                (
                    "pair",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="registry.pair"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("dataset", "pair"), name="one_count_per_set_and_pair")],
            },
        ),
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                ("frozen", models.DateTimeField(editable=False, null=True)),
                ("binned", models.DateTimeField(editable=False, null=True)),
                ("url", models.CharField(max_length=300)),
                ("dialect", models.CharField(max_length=40)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("deadline_s", models.FloatField(default=600.0)),
                ("sealed_key", models.TextField(blank=True, editable=False)),
                ("key_set", models.DateTimeField(editable=False, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("checking", "Checking"), ("ready", "Ready"), ("refused", "Refused")],
                        default="checking",
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("findings", models.JSONField(default=list)),
                ("checked", models.DateTimeField(editable=False, null=True)),
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
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="endpoints",
                        to="registry.languagemodel",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="%(class)ss", to="accounts.team"
                    ),
                ),
                ("dtype", models.CharField(blank=True, default="", max_length=20)),
                ("serves", models.CharField(blank=True, default="", editable=False, max_length=500)),
            ],
            options={
                "verbose_name": "server",
                "indexes": [models.Index(fields=["team", "-created"], name="endpoints_by_team")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["checking", "ready", "refused"])),
                        name="endpoint_state_is_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("binned", None)), fields=("team", "name"), name="one_endpoint_per_name"
                    ),
                ],
            },
        ),
    ]

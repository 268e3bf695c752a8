import uuid

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("uploads", "0001_squashed_0003_reopen_unpacking"),
        ("uploads", "0002_unpacking"),
        ("uploads", "0003_reopen_unpacking"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("jobs", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("unpacking", "Unpacking"),
                            ("complete", "Complete"),
                            ("refused", "Refused"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="uploads", to="accounts.team"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
                    ),
                ),
                ("reason", models.TextField(blank=True)),
            ],
            options={
                "indexes": [models.Index(fields=["team", "-created"], name="uploads_by_team")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "unpacking", "complete", "refused"])),
                        name="upload_state_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UploadedFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=255)),
                ("size", models.PositiveBigIntegerField()),
                ("chunks", models.JSONField(default=list)),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="files", to="uploads.upload"
                    ),
                ),
            ],
            options={
                "ordering": ["path"],
                "constraints": [
                    models.UniqueConstraint(fields=("upload", "path"), name="one_file_per_path_in_an_upload")
                ],
            },
        ),
        migrations.CreateModel(
            name="Chunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "sha256",
                    models.CharField(
                        max_length=64, validators=[django.core.validators.RegexValidator("^[0-9a-f]{64}\\Z")]
                    ),
                ),
                ("size", models.PositiveIntegerField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="accounts.team"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "sha256"), name="one_chunk_per_team_and_content")
                ],
            },
        ),
    ]

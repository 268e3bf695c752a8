from django.conf import settings
from django.core.validators import RegexValidator
from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL
from django.utils import timezone

from webapp.core.migrating import key, noun, replaced, table


class Migration(migrations.Migration):
    replaces = replaced("uploads", "0001_squashed_0003_reopen_unpacking 0002_unpacking 0003_reopen_unpacking")
    initial = True
    dependencies = [("accounts", "0001_initial"), ("jobs", "0001_initial")]
    operations = [
        table(
            "Upload",
            {
                **noun(),
                "name": models.CharField(max_length=200),
                "state": models.CharField(
                    max_length=10,
                    default="open",
                    choices=[
                        ("open", "Open"),
                        ("unpacking", "Unpacking"),
                        ("complete", "Complete"),
                        ("refused", "Refused"),
                    ],
                ),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "uploads"),
                "job": key("jobs.job", SET_NULL, null=True),
                "reason": models.TextField(blank=True),
            },
            indexes=[models.Index(fields=["team", "-created"], name="uploads_by_team")],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("state__in", ["open", "unpacking", "complete", "refused"])),
                    name="upload_state_is_known",
                )
            ],
        ),
        table(
            "UploadedFile",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "path": models.CharField(max_length=255),
                "size": models.PositiveBigIntegerField(),
                "chunks": models.JSONField(default=list),
                "upload": key("uploads.upload", CASCADE, "files"),
            },
            ordering=["path"],
            constraints=[models.UniqueConstraint(fields=("upload", "path"), name="one_file_per_path_in_an_upload")],
        ),
        table(
            "Chunk",
            {
                "id": models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
                "sha256": models.CharField(max_length=64, validators=[RegexValidator("^[0-9a-f]{64}\\Z")]),
                "size": models.PositiveIntegerField(),
                "created": models.DateTimeField(default=timezone.now),
                "team": key("accounts.team", CASCADE, "chunks"),
            },
            constraints=[models.UniqueConstraint(fields=("team", "sha256"), name="one_chunk_per_team_and_content")],
        ),
    ]

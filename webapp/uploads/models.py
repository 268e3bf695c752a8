"""Files that people send. Content is addressed by its hash, so that nothing is sent or kept twice in a team."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from webapp.accounts.models import Owned, Team
from webapp.core.models import Noun
from webapp.jobs.models import Job

SHA256 = RegexValidator(r"^[0-9a-f]{64}\Z")


class Chunk(models.Model):
    """A piece that has arrived whole."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="chunks")
    sha256 = models.CharField(max_length=64, validators=[SHA256])
    size = models.PositiveIntegerField()
    created = models.DateTimeField(default=timezone.now)  # the time when the chunk was last sent or claimed

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "sha256"], name="one_chunk_per_team_and_content")]


class Upload(Noun):
    class State(models.TextChoices):
        OPEN = "open"
        UNPACKING = "unpacking"  # everything is sent; a worker has yet to unpack it
        COMPLETE = "complete"
        REFUSED = "refused"  # it could not be unpacked

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="uploads")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    reason = models.TextField(blank=True)  # why it was refused, as a sentence
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = Owned.as_manager()

    class Meta:
        indexes = [models.Index(fields=["team", "-created"], name="uploads_by_team")]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["open", "unpacking", "complete", "refused"]), name="upload_state_is_known"
            )
        ]

    def __str__(self) -> str:
        return self.name


class UploadedFile(models.Model):
    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    chunks = models.JSONField(default=list)  # their SHA-256 in order; all but the last have settings.CHUNK_BYTES

    class Meta:
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["upload", "path"], name="one_file_per_path_in_an_upload")]

    @property
    def name(self) -> str:
        """The file's name without folders."""
        return str(self.path.rsplit("/")[-1])

"""Links that show one comparison to whoever has them: read-only and revocable."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from webapp.accounts.models import Owned, Team
from webapp.comparisons.models import Comparison
from webapp.core.models import Noun


class ShareQuerySet(Owned):
    def open(self) -> ShareQuerySet:
        return self.filter(Q(expires=None) | Q(expires__gt=timezone.now()), revoked_at=None)


class Share(Noun):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="shares")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="shares")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    hides_texts = models.BooleanField(default=False)
    expires = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = ShareQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]

    @property
    def is_open(self) -> bool:
        return self.revoked_at is None and (self.expires is None or self.expires > timezone.now())

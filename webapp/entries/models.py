"""Base of all named things of a team. They are renamed, frozen, binned and restored alike (`services`)."""

from __future__ import annotations

from django.apps import apps
from django.conf import settings
from django.db import models

from webapp.accounts.models import Owned, Team
from webapp.core.models import Noun


class Kept(Owned):
    def kept(self) -> Kept:
        """Leave out what is in the bin."""
        return self.filter(binned=None)

    def binned(self) -> Kept:
        return self.filter(binned__isnull=False)


class Entry(Noun):
    """A named thing of a team. `frozen` since a comparison points at it; `binned` while it is in the bin."""

    address: str  # first part of its list's URL, and the name of that route

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="%(class)ss")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=200)
    frozen = models.DateTimeField(null=True, editable=False)
    binned = models.DateTimeField(null=True, editable=False)

    objects = Kept.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    def discard(self) -> None:
        """Delete it for good. Large parts of it may be deleted first."""
        self.delete()


def kinds() -> list[type[Entry]]:
    """Every kind of entry that an app has."""
    return [kind for kind in apps.get_models() if issubclass(kind, Entry)]

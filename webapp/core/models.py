"""Base models of every app: public ids, and running totals."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class Noun(models.Model):
    """A thing with a page and an address. Its id is random, so nobody can guess it from another."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True


class Tally(models.Model):
    """Running total that outlives the rows it counted: webapp/core/tallies.py."""

    name = models.CharField(max_length=40)
    kind = models.CharField(max_length=40, blank=True)
    cause = models.CharField(max_length=40, blank=True)
    count = models.PositiveBigIntegerField(default=0)
    latest = models.DateTimeField(null=True)  # when it was last counted, by the database's clock

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "kind", "cause"], name="one_tally_per_cause")]


class Fact(models.Model):
    """A fact about the whole installation: a text, and the time, by the database's clock, at which it was written."""

    name = models.CharField(max_length=40, primary_key=True)
    value = models.CharField(max_length=100, blank=True)
    at = models.DateTimeField(default=Now)

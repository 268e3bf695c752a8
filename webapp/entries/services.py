"""Rename, bin, restore and freeze entries, whichever app they are of."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.naming import LONGEST, free
from webapp.core.problems import Conflict
from webapp.entries.models import Entry


@transaction.atomic
def rename(*, entry: Entry, name: str, by: Actor) -> None:
    by.require(Right.SUBMIT)
    if not type(entry).objects.filter(pk=entry.pk, frozen=None).update(name=name):
        raise Conflict(
            f"A comparison uses {entry.name}, so it cannot change.",
            code="in-use",
            hint="Add it again under the other name.",
        )
    audit.record(by, "renamed", entry, to=name)
    entry.name = name


def free_name(kind: type[Entry], name: str, by: Actor) -> str:
    """Return a name for a thing that nobody has named, as none of its kind in the team is called yet."""
    alike = kind.objects.visible_to(by).filter(name__startswith=name[:100])
    return free(name[:LONGEST], alike.values_list("name", flat=True))


@transaction.atomic
def bin(*, entry: Entry, by: Actor) -> None:
    """Hide it until somebody restores it. What points at it goes on working."""
    by.require(Right.SUBMIT)
    if not type(entry).objects.filter(pk=entry.pk, binned=None).update(binned=timezone.now()):
        raise Conflict(f"{entry.name} is in the bin already.")
    audit.record(by, "binned", entry)


@transaction.atomic
def restore(*, entry: Entry, by: Actor) -> None:
    by.require(Right.SUBMIT)
    try:
        with transaction.atomic():
            is_back = type(entry).objects.filter(pk=entry.pk, binned__isnull=False).update(binned=None)
    except IntegrityError:
        raise Conflict(
            f"There is a {entry._meta.verbose_name} called {entry.name} already.",
            code="name-taken",
            hint="Delete that one first.",
        ) from None
    if not is_back:
        raise Conflict(f"{entry.name} is not in the bin.")
    audit.record(by, "restored", entry)
    entry.binned = None


@transaction.atomic
def freeze(*entries: Entry) -> None:
    """Fix their names: a comparison points at them from now on."""
    for entry in entries:
        type(entry).objects.filter(pk=entry.pk, frozen=None).update(frozen=timezone.now())

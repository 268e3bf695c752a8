"""Views of the runs that a team saves under a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, transaction

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.comparisons.across.filters import normalised
from webapp.comparisons.models import SavedView
from webapp.core.problems import Conflict
from webapp.entries import services as entries

T = TypeVar("T")
MOST_VIEWS = 200


@transaction.atomic
def save(*, name: str, query: str, by: Actor) -> SavedView:
    """Save a view; it replaces the one of the same name."""
    by.require(Right.SUBMIT)
    query = normalised(query)
    there = SavedView.objects.visible_to(by).kept()
    view = there.filter(name=name).select_for_update().first()
    if view is None:
        if there.count() >= MOST_VIEWS:
            raise Conflict(f"Your team keeps {MOST_VIEWS} views already.", hint="Delete some.", code="too-many-views")
        view = _named(name, lambda: SavedView.objects.create(team=by.home, created_by=by.user, name=name, query=query))
    else:
        view.query = query
        view.save(update_fields=["query"])
    audit.record(by, "saved", view, query=query)
    return view


@transaction.atomic
def change(*, view: SavedView, by: Actor, name: str | None = None, query: str | None = None) -> None:
    by.require(Right.SUBMIT)
    view.name = view.name if name is None else name
    view.query = view.query if query is None else normalised(query)
    _named(view.name, lambda: view.save(update_fields=["name", "query"]))
    audit.record(by, "changed", view, query=view.query)


@transaction.atomic
def restore(*, view: SavedView, by: Actor) -> None:
    _named(view.name, lambda: entries.restore(entry=view, by=by))


def _named(name: str, act: Callable[[], T]) -> T:
    """Do what gives a view its name; refuse the second of two with the same name."""
    try:
        with transaction.atomic():
            return act()
    except IntegrityError:
        raise Conflict(
            f"There is a view called {name} already.", field="name", hint="Choose another name.", code="name-taken"
        ) from None

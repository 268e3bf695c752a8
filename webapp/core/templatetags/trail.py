"""`{% trail %}`: breadcrumbs, from the team over a list and an entry to a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@dataclass(frozen=True)
class Place:
    title: str
    parent: str  # a page; none above it if empty
    of: str = ""  # the name under which the page's template knows the entry


TEAM = "team"
PLACES = {
    "comparisons": Place("Comparisons", TEAM),
    "new-comparison": Place("New", "comparisons"),
    "comparisons-difference": Place("Side by side", "comparisons"),
    "comparison": Place("", "comparisons", "comparison"),
    "comparison-rounds": Place("Rounds", "comparison", "comparison"),
    "shares": Place("Share", "comparison", "comparison"),
    "runs": Place("Runs", TEAM),
    "save-view": Place("Keep a view", "runs"),
    "pairs": Place("Pairs", TEAM),
    "new-pair": Place("New", "pairs"),
    "pair": Place("", "pairs", "entry"),
    "pair-history": Place("Over time", "pair", "pair"),
    "models": Place("Models", TEAM),
    "new-model": Place("New", "models"),
    "model": Place("", "models", "entry"),
    "datasets": Place("Prompts", TEAM),
    "new-dataset": Place("New", "datasets"),
    "dataset": Place("", "datasets", "entry"),
    "endpoints": Place("Servers", TEAM),
    "new-endpoint": Place("New", "endpoints"),
    "endpoint": Place("", "endpoints", "entry"),
    "classifiers": Place("Classifiers", TEAM),
    "new-classifier": Place("Add", "classifiers"),
    "train-classifier": Place("Train", "classifiers"),
    "classifier": Place("", "classifiers", "entry"),
    "training": Place("", "classifiers", "training"),
    "studies": Place("Studies", TEAM),
    "new-study": Place("New", "studies"),
    "study": Place("", "studies", "study"),
    "jobs": Place("Jobs", TEAM),
    "job": Place("", "jobs", "job"),
    "audit": Place("Who did what", TEAM),
    "tokens": Place("API tokens", TEAM),
    "uploads": Place("Uploads", TEAM),
    "system": Place("System", ""),
    "users": Place("Users", "system"),
}


@register.simple_tag(takes_context=True)
def trail(context: Context) -> SafeString | str:
    """Draw a link to each level above this page, then the page's own name."""
    request: Any = context.get("request")
    match = getattr(request, "resolver_match", None)
    page = str(match.url_name) if match else ""
    if page not in PLACES or not request.user.is_authenticated:
        return ""
    *above, (_, here) = reversed(list(_levels(context, page)))
    if not above:
        return ""
    links = format_html_join("", '<li><a href="{}">{}</a></li>', above)
    own = format_html('<li aria-current="page">{}</li>', here)
    return format_html('<nav class="trail" aria-label="Breadcrumb"><ol>{}{}</ol></nav>', links, own)


def _levels(context: Context, page: str) -> Iterator[tuple[str, str]]:
    """Yield address and name of a page and of each level above it. If there is no such entry, begin with the list."""
    thing: Any = None
    while place := PLACES.get(page):
        thing = thing or context.get(place.of)
        if not place.of or thing:
            is_entry = place.of and not place.title
            yield reverse(page, args=[thing.pk] if place.of else []), _name(thing) if is_entry else place.title
        page = place.parent
    if page == TEAM:
        yield reverse(TEAM), str(context["request"].actor.team)


def _name(thing: Any) -> str:
    return getattr(thing, "name", "") or thing.title

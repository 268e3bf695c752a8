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
class Crumb:
    title: str
    parent: str  # a page; none above it if empty
    of: str = ""  # the name under which the page's template knows the entry


TEAM = "team"
CRUMBS = {
    "comparisons": Crumb("Comparisons", TEAM),
    "new-comparison": Crumb("New", "comparisons"),
    "comparisons-difference": Crumb("Side by side", "comparisons"),
    "comparison": Crumb("", "comparisons", "comparison"),
    "comparison-rounds": Crumb("Rounds", "comparison", "comparison"),
    "shares": Crumb("Share", "comparison", "comparison"),
    "runs": Crumb("Runs", TEAM),
    "pairs": Crumb("Pairs", TEAM),
    "new-pair": Crumb("New", "pairs"),
    "pair": Crumb("", "pairs", "entry"),
    "models": Crumb("Models", TEAM),
    "new-model": Crumb("New", "models"),
    "model": Crumb("", "models", "entry"),
    "datasets": Crumb("Prompts", TEAM),
    "new-dataset": Crumb("New", "datasets"),
    "dataset": Crumb("", "datasets", "entry"),
    "endpoints": Crumb("Servers", TEAM),
    "new-endpoint": Crumb("New", "endpoints"),
    "endpoint": Crumb("", "endpoints", "entry"),
    "classifiers": Crumb("Classifiers", TEAM),
    "new-classifier": Crumb("Add", "classifiers"),
    "train-classifier": Crumb("Train", "classifiers"),
    "classifier": Crumb("", "classifiers", "entry"),
    "training": Crumb("", "classifiers", "training"),
    "studies": Crumb("Studies", TEAM),
    "new-study": Crumb("New", "studies"),
    "study": Crumb("", "studies", "study"),
    "jobs": Crumb("Jobs", TEAM),
    "job": Crumb("", "jobs", "job"),
    "audit": Crumb("Who did what", TEAM),
    "tokens": Crumb("API tokens", TEAM),
    "uploads": Crumb("Uploads", TEAM),
    "system": Crumb("System", ""),
    "users": Crumb("Users", "system"),
}


@register.simple_tag(takes_context=True)
def trail(context: Context) -> SafeString | str:
    """Draw a link to each level above this page, then the page's own name."""
    request: Any = context.get("request")
    match = getattr(request, "resolver_match", None)
    page = str(match.url_name) if match else ""
    if page not in CRUMBS or not request.user.is_authenticated:
        return ""
    *above, (_, here) = reversed(list(_levels(context, page)))
    if not above:
        return ""
    links = format_html_join("", '<li><a href="{}">{}</a></li>', above)
    own = format_html('<li aria-current="page">{}</li>', here)
    return format_html('<nav class="trail" aria-label="Breadcrumb"><ol>{}{}</ol></nav>', links, own)


def _levels(context: Context, page: str) -> Iterator[tuple[str, str]]:
    """Yield address and name of a page and of each level above it. If there is no such entry, begin with the list."""
    entry: Any = None
    while crumb := CRUMBS.get(page):
        entry = entry or context.get(crumb.of)
        if not crumb.of or entry:
            is_entry = crumb.of and not crumb.title
            yield reverse(page, args=[entry.pk] if crumb.of else []), _name(entry) if is_entry else crumb.title
        page = crumb.parent
    if page == TEAM:
        yield reverse(TEAM), str(context["request"].actor.team)


def _name(entry: Any) -> str:
    return getattr(entry, "name", "") or entry.title

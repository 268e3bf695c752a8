"""`{% term "audit" %}`: a question mark that opens the glossary's sentence about a word."""

from __future__ import annotations

from typing import Any

from django import template

from webapp.docs import library

register = template.Library()


@register.inclusion_tag("docs/_term.html")
def term(anchor: str) -> dict[str, Any]:
    """Take a word by its address in the glossary. A word that is not there is a mistake of the page's author."""
    return {"term": library.terms()[anchor]}

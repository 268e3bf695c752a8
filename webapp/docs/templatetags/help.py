"""`{% term "audit" %}`: a question mark that opens the glossary's sentence about a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from webapp.docs import library

register = template.Library()


@register.inclusion_tag("docs/_term.html", takes_context=True)
def term(context: Mapping[str, Any], anchor: str) -> dict[str, Any]:
    """Take a word by its address in the glossary. A word that is not there is a mistake of the page's author."""
    return {"term": library.terms()[anchor], "is_one_file": context.get("is_one_file")}

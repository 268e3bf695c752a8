"""`{% term "audit" %}`: a question mark that opens a sentence about a word, where the word first stands on a page."""

from __future__ import annotations

import functools
import json
import re
from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.core.templatetags.modules import charts_at, of_whole_page, source
from webapp.docs import library
from webapp.docs.library import Term

register = template.Library()
ON_A_CHART = re.compile(r'^export const term = "([^"]+)";$', re.MULTILINE)


@register.simple_tag(takes_context=True)
def term(context: Context, word: str, sentence: str = "", page: str = library.GLOSSARY) -> SafeString:
    """Explain a word of the glossary, or one that brings its sentence. Without either, the page's author is wrong."""
    found = library.term(word) or (Term(word, "", sentence) if sentence else None)
    if found is None:
        raise template.TemplateSyntaxError(f"docs/glossary.md does not explain {word!r}.")
    explained = of_whole_page(context, "explained")
    if found.sentence in explained:
        return SafeString("")
    explained[found.sentence] = f"term-{len(explained)}"
    return _mark(found, explained[found.sentence], _address(context, page, found))


@functools.lru_cache(1000)
def _mark(found: Term, id: str, address: str) -> SafeString:
    """Draw the question mark. A page has dozens, the same each time."""
    return SafeString(render_to_string("docs/_term.html", {"term": found, "id": id, "address": address}))


@register.simple_tag(takes_context=True)
def term_if_known(context: Context, word: str) -> SafeString:
    """Explain the label of a field if the glossary has it."""
    return term(context, word) if library.term(word) else SafeString("")


@register.simple_tag(takes_context=True)
def term_of_column(context: Context, column: Any) -> SafeString:
    """Explain a column by its own sentence, or by the glossary's."""
    return term(context, column.title, column.help) if column.help else term_if_known(context, column.title)


@register.simple_tag(takes_context=True)
def charts(context: Context, section: str) -> SafeString:
    """Make a place for the charts that name a section, each with the word that it explains. `core/charts.js` loads and
    draws them. In a page that is one file, its import map knows them by name."""
    found = {
        name if context.get("is_one_file") else static(name): term(context, word) if (word := word_of(name)) else ""
        for name in charts_at(section)
    }
    return format_html('<div class="charts" data-charts="{}"></div>', json.dumps(found))


@functools.cache
def word_of(chart: str) -> str:
    """Return the word that a chart explains."""
    found = ON_A_CHART.search(source(chart))
    return found[1] if found else ""


def _address(context: Any, page: str, found: Term) -> str:
    """Return where a word is explained at length; a file that opens from a disk links nowhere."""
    return "" if context.get("is_one_file") else f"{reverse('docs-page', args=[page])}#{found.anchor}".rstrip("#")

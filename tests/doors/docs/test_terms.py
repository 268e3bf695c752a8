"""Question marks beside terms on pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template import Context, Template, TemplateSyntaxError

from webapp.docs import library
from webapp.docs.templatetags.help import word_of

ROOT = Path(__file__).parents[3]


def rendered(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


def test_a_question_mark_gives_the_glossarys_sentence_where_the_word_first_stands_on_a_page():
    page = rendered('{% term "audit" %}{% include inner %}', inner=Template('{% term "audit" %}{% term "tie" %}'))
    assert re.findall(r"What is (\w+)", page) == ["audit", "tie"]
    assert len(set(re.findall(r'id="([^"]+)"', page))) == 2
    assert "The check of a text against" in page and "/docs/glossary/#audit" in page
    assert "href" not in rendered('{% term "audit" %}', is_one_file=True)
    with pytest.raises(TemplateSyntaxError, match="does not explain 'fate'"):
        rendered('{% term "fate" %}')
    assert "To be or not" in rendered('{% term "fate" "To be or not" %}')


def test_every_word_that_a_page_or_chart_explains_is_in_the_glossary() -> None:
    named = {
        word
        for path in (ROOT / "templates").rglob("*.html")
        for word, sentence in re.findall(r'{% term "([^"]+)"( [^%]*)? %}', path.read_text())
        if not sentence
    }
    on_charts = {word_of(f"js/charts/{path.name}") for path in (ROOT / "static" / "js" / "charts").glob("*.js")} - {""}
    assert named and on_charts
    assert [word for word in named | on_charts if library.term(word) is None] == []
    glossary = library.read("glossary").html
    assert [term.name for term in library.terms().values() if f'id="{term.anchor}"' not in glossary] == []

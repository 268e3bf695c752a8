"""Question marks beside terms on pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template import Context, Template, TemplateSyntaxError

from webapp.docs import library
from webapp.docs.templatetags.help import word_of

ROOT = Path(__file__).parents[3]


def rendered(source: str = '{% term "what-if" %}', **context: object) -> str:
    return Template(source).render(Context(context))


def test_a_question_mark_gives_the_glossarys_sentence_and_a_link_unless_the_page_is_one_file():
    page = rendered()
    assert 'aria-label="What is what-if?"' in page
    assert "replayed from traces" in page and "/docs/glossary/#what-if" in page
    assert "href" not in rendered(is_one_file=True)


def test_a_word_is_explained_where_it_first_stands_on_a_page() -> None:
    page = rendered('{% term "audit" %}{% include inner %}', inner=Template('{% term "audit" %}{% term "tie" %}'))
    assert re.findall(r"What is (\w+)", page) == ["audit", "tie"]
    assert len(set(re.findall(r'id="([^"]+)"', page))) == 2


def test_a_word_that_is_not_in_the_glossary_needs_a_sentence() -> None:
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

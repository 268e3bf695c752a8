"""Question marks beside terms on pages."""

from __future__ import annotations

from django.template import Context, Template


def rendered(**context: object) -> str:
    return Template('{% term "what-if" %}').render(Context(context))


def test_a_question_mark_gives_the_glossarys_sentence_and_a_link() -> None:
    page = rendered()
    assert 'aria-label="What is what-if?"' in page
    assert "replayed from traces" in page and "/docs/glossary/#what-if" in page


def test_in_a_file_that_opens_from_a_disk_it_links_nowhere() -> None:
    assert "href" not in rendered(is_one_file=True)

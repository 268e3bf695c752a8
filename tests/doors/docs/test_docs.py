"""The documentation: its links lead somewhere, its commands exist, and the lab shows its pages and explains its
terms."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.test import Client

from decoding.strategies import STRATEGIES
from package import cli, rest
from webapp.docs import FIRST, FOLDER, contents, library, names
from webapp.docs.markdown import render
from webapp.docs.templatetags.help import word_of

ROOT = Path(__file__).parents[3]
PAGES = sorted(FOLDER.rglob("*.md"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


# Links ----------------------------------------------------------------------------------------------------------------


@functools.cache
def html(path: Path) -> str:
    return render(path.read_text(), lambda link: link).html


def is_there(path: Path, link: str) -> bool:
    target, _, anchor = link.partition("#")
    there = (path.parent / target).resolve() if target else path
    return there.exists() and (not anchor or f'id="{anchor}"' in html(there))


def test_every_link_leads_to_a_file_or_a_heading_that_is_there_and_every_page_is_listed() -> None:
    links = [
        (path, link)
        for path in (*PAGES, ROOT / "README.md")
        for link in re.findall(r"]\((?!https?:)([^)\s]+)\)", without_code(path.read_text()))
    ]
    assert [f"{link} in {named(path)}" for path, link in links if not is_there(path, link)] == []
    listed = {name for pages in contents().values() for name in pages}
    assert {name for name in names() if name not in listed and "/" not in name} == {FIRST}


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


# Commands -------------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every line that a page asks the reader to type: the file, and the words after `./drafthouse`."""
    for path in (ROOT / "README.md", *PAGES):
        if "log" in path.parts or "decisions" in path.parts:
            continue
        for block in re.findall(r"```(?:sh)?\n(.*?)```", path.read_text(), re.DOTALL):
            if "│" in block:  # a drawing
                continue
            for line in re.findall(r"^(?:\$ )?\./drafthouse (.+)$", block.replace("\\\n", " "), re.MULTILINE):
                if "COMMAND" not in line and "usage:" not in line:
                    yield named(path), shlex.split(line.replace("…", ""), comments=True)


def test_every_option_of_a_command_in_the_documentation_exists() -> None:
    cli_page, wrong = (ROOT / "docs/cli.md").read_text(), []
    for page, (command, *given) in commands():
        helped = cli_page.partition(f"## {command}\n")[2].partition("\n## ")[0]
        if command == "bench":
            helped = (ROOT / "benchmarks" / f"{given[0]}.py").read_text()
            helped += "".join(path.read_text() for path in (ROOT / "benchmarks").glob("_*.py"))
        options = [word.partition("=")[0] for word in given if word.startswith("--")]
        if command != "test" and (not helped or not all(option in helped for option in options)):
            wrong.append(f"{page}: {command} takes not all of {given}")
    assert wrong == []


def test_the_pages_of_commands_and_of_rest_are_what_help_and_schema_say() -> None:
    assert (ROOT / "docs/cli.md").read_text() == cli.written(), "run package.cli"
    assert (ROOT / "docs/rest.md").read_text() == rest.written(), "run package.rest"


# Pages ----------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_everybody_can_read_every_page_and_nothing_outside_the_documentation(client: Client):
    for name in sorted(names()):
        answer = client.get(f"/docs/{name}/")
        assert answer.status_code == 200 and b"<h1" in answer.content, name
    page = client.get("/docs/").content.decode()
    assert "Start in a minute" in page and 'href="/docs/glossary/"' in page
    assert b"$schema" in b"".join(client.get("/docs/compare.schema.json/").streaming_content)
    for outside in ("nothing", "../README.md", "../pyproject.toml", "../starter/defaults.json"):
        assert client.get(f"/docs/{outside}/").status_code == 404


def test_headings_get_githubs_addresses_and_text_is_never_markup_of_its_own():
    page = render("# One thing\n\n## What it is\n\nwords\n\n## What it is\n", lambda link: link)
    assert [heading.anchor for heading in page.headings] == ["one-thing", "what-it-is", "what-it-is-1"]
    assert page.title == "One thing"
    assert dict(page.sections)["what-it-is"] == "words"
    assert "<script>" not in render("<script>alert(1)</script> ```\n<b>\n```", lambda link: link).html


def test_a_picture_of_rounds_shows_what_happened_to_each_token_and_branch():
    drawn = render("```rounds\naat/.r ct/pp # two accepted\n```\n", lambda link: link).html
    assert "two accepted" in drawn
    first, second = re.findall("<b>(.*?)</b>", drawn)
    assert [re.findall('class="(.*?)"', branch) for branch in re.findall("<span>(.*?)</span>", first)] == [
        ["accepted", "accepted", "target"],
        ["none", "refused"],
    ]
    assert re.findall('class="(.*?)"', second) == ["copied", "target", "prepared", "prepared"]


def test_every_strategy_that_could_be_deployed_has_a_section_with_a_picture() -> None:
    sections = (FOLDER / "strategies.md").read_text().split("\n## ")
    drawn = "".join(section for section in sections if "```rounds" in section)
    ours = [slug for slug, strategy in STRATEGIES.items() if strategy.role in ("baseline", "ranked")]
    assert [slug for slug in ours if not re.search(f"`{slug}[:,`]", drawn)] == []


FOR_USERS, GENERATED = ("Use", "Script", "Operate"), {"cli", "rest"}


def test_users_read_at_most_15750_words() -> None:
    listed = {name for section in FOR_USERS for name in contents()[section]} - GENERATED
    assert sum(len((FOLDER / f"{name}.md").read_text().split()) for name in listed) <= 15_750


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

"""The documentation: its links lead somewhere, its commands exist, and a lab and a folder show the same pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from decoding.strategies import STRATEGIES
from webapp.docs import library, rest
from webapp.docs.markdown import render
from worker.terminal import reference
from worker.terminal.arguments import read_arguments

ROOT = Path(__file__).parents[3]
PAGES = sorted(library.FOLDER.rglob("*.md"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


# Links ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=named)
def test_every_link_leads_to_a_file_or_a_heading_that_is_there(path: Path) -> None:
    for link in re.findall(r"]\(([^)\s]+)\)", without_code(path.read_text())):
        target, _, anchor = link.partition("#")
        if re.match(r"https?:", link):
            continue
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), f"{link} in {named(path)}"
        if anchor:
            assert f'id="{anchor}"' in render(there.read_text(), lambda link: link).html, f"{link} in {named(path)}"


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def test_every_page_is_listed_or_belongs_to_a_folder_with_a_list() -> None:
    listed = {entry.name for section in library.contents() for entry in section.entries}
    lost = {name for name in library.names() if name not in listed and "/" not in name}
    assert lost == {library.FIRST}
    assert listed <= library.names()


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


@pytest.mark.parametrize(("page", "words"), [pytest.param(*each, id=" ".join(each[1])[:60]) for each in commands()])
def test_every_option_of_a_command_in_the_documentation_exists(page: str, words: list[str]) -> None:
    command, *given = words
    helped = ""
    if command == "bench":
        source = (ROOT / "benchmarks" / f"{given[0]}.py").read_text()
        helped = source + "".join(path.read_text() for path in (ROOT / "benchmarks").glob("_*.py"))
    elif command != "test":
        helped = (ROOT / "docs/cli.md").read_text().partition(f"## {command}\n")[2].partition("\n## ")[0]
        assert helped, f"{page}: there is no command {command}"
    for option in (word.partition("=")[0] for word in given if word.startswith("--")):
        assert option in helped, f"{page}: {command} takes no {option}"


@pytest.mark.parametrize("words", [pytest.param(w, id=" ".join(w)[:60]) for _, w in commands() if w[0] == "compare"])
def test_every_comparison_in_the_documentation_can_be_asked_for(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (
        "path/to/target",
        "path/to/draft",
        *(f"Qwen/Qwen2.5-Coder-{size}-Instruct" for size in ("1.5B", "0.5B")),
    ):
        (tmp_path / folder).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder).symlink_to(ROOT / "starter/pair" / ("draft" if folder.endswith("draft") else "target"))
    (tmp_path / "prompts.jsonl").write_text('{"text": "one"}\n')
    for name in ("chats", "tasks", "log"):
        form = "log.jsonl" if name == "log" else "chat.jsonl"
        (tmp_path / f"{name}.jsonl").symlink_to(ROOT / "tests/decoding/prompt_files" / form)
    monkeypatch.chdir(tmp_path)
    assert read_arguments(words[1:]).choices


def test_the_page_of_commands_is_what_their_help_says() -> None:
    assert (ROOT / "docs/cli.md").read_text() == reference.written(), "run worker.terminal.reference"


def test_the_page_of_rest_is_what_its_schema_says() -> None:
    assert (ROOT / "docs/rest.md").read_text() == rest.written(), "run webapp.docs.rest"


# Pages ----------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_everybody_can_read_every_page_and_nothing_outside_the_documentation(client: Client):
    for name in sorted(library.names() - {library.FIRST}):
        answer = client.get(f"/docs/{name}/")
        assert answer.status_code == 200 and b"<h1" in answer.content, name
    assert b"Start in a minute" in client.get("/docs/").content
    assert client.get("/docs/nothing/").status_code == 404
    assert client.get("/docs/../README.md/").status_code == 404
    assert client.get("/docs/README/").status_code == 302
    assert b"$schema" in b"".join(client.get("/docs/compare.schema.json/").streaming_content)
    assert library.file("../pyproject.toml") is None
    assert library.file("../starter/defaults.json") is None


def test_headings_get_githubs_addresses_and_text_is_never_markup_of_its_own():
    page = render("# One thing\n\n## What it is\n\nwords\n\n## What it is\n", lambda link: link)
    assert [heading.anchor for heading in page.headings] == ["one-thing", "what-it-is", "what-it-is-1"]
    assert page.title == "One thing"
    assert dict(page.sections)["what-it-is"] == "words"
    assert "<script>" not in render("<script>alert(1)</script> ```\n<b>\n```", lambda link: link).html


def test_a_picture_of_rounds_shows_what_happened_to_each_token_and_branch():
    html = render("```rounds\naart t # two accepted\n```\n", lambda link: link).html
    assert html.count('class="accepted"') == 2 and html.count('class="target"') == 2
    assert html.count("<b>") == 2 and "two accepted" in html
    html = render("```rounds\naat/.r ct/pp\n```\n", lambda link: link).html
    first, second = re.findall("<b>(.*?)</b>", html)
    assert [re.findall('class="(.*?)"', branch) for branch in re.findall("<span>(.*?)</span>", first)] == [
        ["accepted", "accepted", "target"],
        ["none", "refused"],
    ]
    assert re.findall('class="(.*?)"', second) == ["copied", "target", "prepared", "prepared"]


def test_every_strategy_that_could_be_deployed_has_a_section_with_a_picture() -> None:
    sections = (library.FOLDER / "strategies.md").read_text().split("\n## ")
    drawn = "".join(section for section in sections if "```rounds" in section)
    ours = [slug for slug, strategy in STRATEGIES.items() if strategy.role in ("baseline", "ranked")]
    assert [slug for slug in ours if not re.search(f"`{slug}[:,`]", drawn)] == []


def test_the_glossary_explains_a_term_in_a_sentence() -> None:
    assert library.terms()["audit"].sentence.startswith("The check of a text against")
    for term in library.terms().values():
        assert f'id="{term.anchor}"' in library.read("glossary", str).html, term.name


FOR_USERS, GENERATED = ("Use", "Script", "Operate"), ("cli", "rest")


def test_users_read_at_most_15750_words() -> None:
    listed = [e.name for s in library.contents() if s.title in FOR_USERS for e in s.entries if e.name not in GENERATED]
    assert sum(len((library.FOLDER / f"{name}.md").read_text().split()) for name in listed) <= 15_750

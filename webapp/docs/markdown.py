"""Markdown to HTML: tables, headings with addresses, links between pages, and pictures of rounds.

A fenced block called `rounds` draws what each round of a strategy does. `a` is an accepted drafted token, `c` an
accepted copied one, `r` a refused one, `d` one that was drafted and not judged, `p` one that is prepared for the next
round, and `t` the target's own token. A space separates rounds, `/` the branches of a round, which stand below one
another. `.` leaves room for a token. Words after `#` stand beside the picture.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.html import escape
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

Href = Callable[[str], str | None]  # a link as written in the file → its address; None: nothing there to show

KINDS = {
    "a": "accepted", "c": "copied", "r": "refused", "d": "unjudged", "p": "prepared", "t": "target", ".": "none",
}  # fmt: skip


@dataclass
class Heading:
    level: int
    text: str
    anchor: str


@dataclass
class Rendered:
    html: str
    title: str
    headings: list[Heading] = field(default_factory=list)
    sections: list[tuple[str, str]] = field(default_factory=list)  # anchor, and the words below it


def render(source: str, href: Href) -> Rendered:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("fence", _fence)
    tokens = parser.parse(source)
    headings = list(_addressed(tokens))
    _name_terms(tokens)
    for token in _inline(tokens):
        _relink(token, href)
    html = parser.renderer.render(tokens, parser.options, {})
    title = next((heading.text for heading in headings if heading.level == 1), "")
    return Rendered(html, title, headings, list(_sections(tokens)))


def _addressed(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Give each heading an address, as GitHub does: equal ones get a number."""
    seen: dict[str, int] = {}
    for token, inline in itertools.pairwise(tokens):
        if token.type == "heading_open":
            text = _words(inline)
            anchor = slugify(text) or "section"
            seen[anchor] = seen.get(anchor, -1) + 1
            anchor += f"-{seen[anchor]}" if seen[anchor] else ""
            token.attrSet("id", anchor)
            yield Heading(int(token.tag[1]), text, anchor)


def _name_terms(tokens: Sequence[Token]) -> None:
    """Give the bold words of a table's first column addresses, so that pages can link to a term."""
    for before, cell, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type == "tr_open" and cell.type == "td_open":
            children = inline.children or []
            for strong, words in itertools.pairwise(children):
                if strong.type == "strong_open":
                    strong.attrSet("id", slugify(words.content))


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    return (child for token in tokens for child in token.children or ())


def _relink(token: Token, href: Href) -> None:
    if token.type == "link_open":
        address = href(str(token.attrGet("href") or ""))
        if address is None:
            token.attrs.pop("href", None)
        else:
            token.attrSet("href", address)


def _words(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def _sections(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    anchor, words = "", list[str]()
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "heading_open":
            yield anchor, " ".join(words)
            anchor, words = str(token.attrGet("id")), []
        elif token.type == "inline" and not (before and before.type == "heading_open"):
            words.append(_words(token))
        elif token.type == "fence":
            words.append(token.content)
    yield anchor, " ".join(words)


def _fence(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    if token.info.strip() == "rounds":
        return _rounds(token.content)
    return f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>\n'


def _rounds(source: str) -> str:
    lines = []
    for line in source.strip().splitlines():
        rounds, _, words = line.partition("#")
        lines.append(f'<p><span class="strip" aria-hidden="true">{_strip(rounds)}</span> {escape(words.strip())}</p>')
    return f'<div class="rounds">{"".join(lines)}</div>\n'


def _strip(rounds: str) -> str:
    def block(letter: str) -> str:
        return f'<i class="{KINDS[letter]}"></i>'

    def branch(letters: str) -> str:
        return f"<span>{''.join(map(block, letters))}</span>"

    return "".join(f"<b>{''.join(map(branch, one.split('/')))}</b>" for one in rounds.split())

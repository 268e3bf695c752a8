"""Prompts from the source files that neither model saw: code to complete and prose to continue.

A held-out file may still quote a file of the corpus (a licence, a copied method), so prompts that share too many lines
with the corpus are left out too.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tokenizers import Tokenizer

from starter.corpus import Source

SHORTEST, LONGEST = 32, 200  # tokens of a prompt
PER_FILE = 4  # so that no file fills half a set
SIZES = {"train": 400, "validation": 120, "test": 120}
TELLING = 20  # shorter lines are not compared with the corpus


@dataclass(frozen=True)
class StarterPrompt:
    """One line of a prompt file."""

    id: str
    text: str
    category: str
    split: str
    source: str


def prompt_sets(sources: list[Source], tokenizer: Tokenizer) -> dict[str, list[StarterPrompt]]:
    """Make both sets. Files come in the order of their hash, so that every package gets its turn."""
    known = {line for source in sources if source.split == "corpus" for line in telling_lines(source)}
    held_out = sorted(
        (source for source in sources if source.split != "corpus"),
        key=lambda source: hashlib.sha256(source.name.encode()).digest(),
    )
    return {
        kind: list(_chosen(kind, pieces, held_out, known, tokenizer))
        for kind, pieces in (("code", code_pieces), ("prose", prose_pieces))
    }


def telling_lines(source: Source) -> Iterator[str]:
    for document in source.documents:
        yield from (line.strip() for line in document.splitlines() if len(line.strip()) >= TELLING)


def _chosen(
    kind: str,
    pieces: Callable[[Source], Iterator[tuple[str, str]]],
    held_out: list[Source],
    known: set[str],
    tokenizer: Tokenizer,
) -> Iterator[StarterPrompt]:
    taken = dict.fromkeys(SIZES, 0)
    seen: set[str] = set()
    for source in held_out:
        from_file = 0
        for category, text in pieces(source):
            if taken[source.split] == SIZES[source.split] or from_file == PER_FILE:
                break
            if text in seen or not is_fit(text, known, tokenizer):
                continue
            seen.add(text)
            from_file += 1
            taken[source.split] += 1
            number = f"{kind}-{source.split}-{taken[source.split]:03}"
            yield StarterPrompt(number, text, category, source.split, source.name)


def is_fit(text: str, known: set[str], tokenizer: Tokenizer) -> bool:
    """Whether the text has a fitting length and is not in the corpus in another way."""
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) >= TELLING]
    copied = sum(line in known for line in lines)
    return copied <= len(lines) / 3 and SHORTEST <= len(tokenizer.encode(text).ids) <= LONGEST


def code_pieces(source: Source) -> Iterator[tuple[str, str]]:
    """Yield functions and methods from their first line to the end of their docstring, if a body follows.

    No line end after it: the tokenizer joins a line end with the next line's indentation, and a prompt that ends in
    half such a token asks for something that the models never saw.
    """
    if not source.code:
        return
    lines = source.code.splitlines()
    for node, owner in functions(ast.parse(source.code)):
        if not ast.get_docstring(node) or len(node.body) < 3:
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        piece = lines[first : node.body[0].end_lineno]
        if owner is not None:
            piece = [lines[owner.lineno - 1], *piece]
            if not piece[0].rstrip().endswith(":"):
                continue  # a class statement of several lines
        yield ("function" if owner is None else "method"), "\n".join(piece)


def functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ClassDef | None]]:
    """Yield the functions at the top of a module and the methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((n, node) for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def prose_pieces(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the first halves of passages from docstrings and documentation."""
    for category, text in texts(source):
        for passage in passages(text):
            words = passage.split(" ")
            yield category, " ".join(words[: len(words) // 2]).rstrip()


def texts(source: Source) -> Iterator[tuple[str, str]]:
    """Yield a source's prose with its kind: a module's docstring reads like documentation."""
    if not source.code:
        yield from (("documentation", text) for text in source.prose)
        return
    kinds = {ast.Module: "module", ast.ClassDef: "class", ast.FunctionDef: "function", ast.AsyncFunctionDef: "function"}
    for node in ast.walk(ast.parse(source.code)):
        if type(node) in kinds and (text := ast.get_docstring(node)):
            yield kinds[type(node)], text


def passages(text: str) -> Iterator[str]:
    """Cut a text between paragraphs into passages of 400 to 1,200 characters, without tables and bare code."""
    passage = ""
    for paragraph in text.split("\n\n"):
        passage = f"{passage}\n\n{paragraph}" if passage else paragraph
        if len(passage) < 400:
            continue
        letters = sum(character.isalpha() or character.isspace() for character in passage)
        if len(passage) <= 1200 and letters > 0.85 * len(passage):
            yield passage.strip("\n")
        passage = ""


def write_prompts(prompts: Iterable[StarterPrompt], path: Path) -> None:
    path.write_text("".join(json.dumps(asdict(prompt), ensure_ascii=False) + "\n" for prompt in prompts), "utf-8")

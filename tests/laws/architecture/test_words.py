"""Names, docstrings and lines that are read once and understood, and strategies that only their own modules name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from decoding.strategies import STRATEGIES

ROOT = Path(__file__).parents[3]
PRODUCT = ("decoding", "webapp", "worker")
ALL = (*PRODUCT, "benchmarks", "docker", "starter", "tests")
FRAMEWORKS = {"Command", "Meta", "Migration"}  # Django finds classes by these names
RIDDLE = re.compile(r"(Of|What|That|Where|Who|Whoever|Whatever)\b(?!-)")
MOST = 160  # characters of a line
WORDS_OF_OTHERS = {"static", "threshold", "oracle", "disco", "server"}  # also a folder, a parameter, a study, …
NAMES_STRATEGIES = ("decoding/strategies/", "decoding/backends/contestants/")


def sources(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    for path in (path for package in packages for path in sorted((ROOT / package).rglob("*.py"))):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def test_no_class_takes_the_name_of_another() -> None:
    homes = defaultdict(list)
    for path, tree in sources(*PRODUCT):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORKS:
                homes[node.name].append(f"{path}:{node.lineno}")
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert not twice, f"Find other names: other classes have these already: {twice}"


def test_no_docstring_begins_with_a_word_that_makes_it_a_riddle() -> None:
    found = [
        f"{path}:{node.body[0].lineno}: {text.splitlines()[0]}"
        for path, tree in sources(*ALL)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and RIDDLE.match(text := ast.get_docstring(node) or "")
    ]
    remedy = 'Begin with a verb ("Return …") or a noun that names the thing ("Running mean of …")'
    assert not found, "\n".join([remedy, *found])


def test_no_line_of_a_template_or_document_is_longer_than_160_characters() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number} has {len(line)} characters: break the line, or move a part to another file."
        for pattern in ("templates/**/*.html", "*.md", "docs/**/*.md")
        for path in sorted(ROOT.glob(pattern))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MOST
    ]
    assert found == []


def named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find slugs: those without another meaning anywhere, the others where they are chosen or compared with a
    strategy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in STRATEGIES.keys() - WORDS_OF_OTHERS:
            yield node.lineno, node.value
        is_choice = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("choose")
        is_comparison = isinstance(node, ast.Compare) and "strategy" in ast.unparse(node)
        if is_choice or is_comparison:
            said = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
            yield from ((node.lineno, slug) for slug in said & WORDS_OF_OTHERS & STRATEGIES.keys())


def test_no_strategy_is_named_outside_its_module() -> None:
    found = [
        f"{path}:{line}: {slug!r}"
        for path, tree in sources(*PRODUCT)
        if "/migrations/" not in path and not path.startswith(NAMES_STRATEGIES)
        for line, slug in sorted(set(named(tree)))
    ]
    assert not found, (
        "Say it in the strategy's own module (decoding/strategies), as a field of its Strategy, and ask the registry: "
        + "; ".join(found)
    )

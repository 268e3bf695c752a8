"""Only a strategy's own module names it; everything else is derived."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from decoding.strategies import STRATEGIES

ROOT = Path(__file__).parents[3]
WORDS_OF_OTHERS = {"static", "threshold", "oracle", "disco", "server"}  # also a folder, a parameter, a study, …


def sources() -> Iterator[tuple[str, ast.Module]]:
    for package in ("decoding", "webapp", "worker"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if "/migrations/" not in name and not name.startswith(
                ("decoding/strategies/", "decoding/backends/contestants/")
            ):
                yield name, ast.parse(path.read_text())


def slugs_in(node: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in STRATEGIES}


def named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find slugs: those without another meaning anywhere, the others where they are chosen or compared with a
    strategy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in STRATEGIES.keys() - WORDS_OF_OTHERS:
            yield node.lineno, node.value
        is_choice = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("choose")
        is_comparison = isinstance(node, ast.Compare) and "strategy" in ast.unparse(node)
        if is_choice or is_comparison:
            yield from ((node.lineno, slug) for slug in slugs_in(node) & WORDS_OF_OTHERS)


def test_no_strategy_is_named_outside_its_module() -> None:
    found = [f"{name}:{line}: {slug!r}" for name, tree in sources() for line, slug in sorted(set(named(tree)))]
    assert not found, (
        "Say it in the strategy's own module (decoding/strategies), as a field of its Strategy, and ask the registry: "
        + "; ".join(found)
    )

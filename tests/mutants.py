"""Plant seeded single changes in the product, one at a time, and see which tests notice: what a suite is worth.

    python -m tests.mutants --count 40 --under decoding/core tests/laws  # with --list, only list them

Changes are drawn by `--seed`, more where there are more lines. Each is written over the file and taken back, also
after Ctrl-C, so run this in a work tree of its own. The result is JSON: each change with its tests' exit code and
seconds, and the share that was killed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("decoding", "webapp", "worker")
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
COMBINED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "*"}
SECONDS = 300  # after which a test run counts as hanging, and the change as noticed


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    kind: str
    old: str
    new: str
    start: int  # in characters of the file
    end: int

    def applied(self, source: str) -> str:
        assert source[self.start : self.end] == self.old, "the file is not what it was"
        return source[: self.start] + self.new + source[self.end :]


class Places:
    """Places where a file can be changed."""

    def __init__(self, path: str, source: str) -> None:
        self._path, self._source = path, source
        self._lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def found(self) -> Iterator[Mutant]:
        for node in ast.walk(ast.parse(self._source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for inner in ast.walk(node):
                    yield from self._of(inner)

    def _of(self, node: ast.AST) -> Iterator[Mutant]:  # noqa: C901  # one line for each kind of change
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARED:
                yield self._between("comparison", left, right, COMPARED[type(operator)])
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in COMBINED:
                yield self._between("operator", left, right, COMBINED[type(operator)])
            case ast.BoolOp(op=operator, values=[left, right]):
                yield self._between("operator", left, right, "or" if isinstance(operator, ast.And) else "and")
            case ast.Constant(value=bool() as value):
                yield self._instead("constant", node, str(not value))
            case ast.Constant(value=int() as value):
                yield self._instead("off by one", node, str(value + 1))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._instead("condition", node, self._text(operand))
            case ast.If(test=test) | ast.IfExp(test=test):
                yield self._instead("condition", test, f"not ({self._text(test)})")
            case ast.Expr(value=ast.Call()):
                yield self._instead("dropped call", node, "pass")
            case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred | ast.GeneratorExp):
                yield self._swapped(first, second)
            case ast.Raise():
                yield self._instead("dropped refusal", node, "pass")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._instead("returned nothing", value, "None")

    def _between(self, kind: str, left: ast.expr, right: ast.expr, new: str) -> Mutant:
        start, end = self._at(left, is_end=True), self._at(right)
        while self._source[start] in " )\n":
            start += 1
        while self._source[end - 1] in " (\n":
            end -= 1
        return self._made(kind, start, end, new)

    def _swapped(self, first: ast.expr, second: ast.expr) -> Mutant:
        start, end = self._at(first), self._at(second, is_end=True)
        between = self._source[self._at(first, is_end=True) : self._at(second)]
        return self._made("swapped arguments", start, end, self._text(second) + between + self._text(first))

    def _instead(self, kind: str, node: ast.expr | ast.stmt, new: str) -> Mutant:
        return self._made(kind, self._at(node), self._at(node, is_end=True), new)

    def _made(self, kind: str, start: int, end: int, new: str) -> Mutant:
        line = self._source.count("\n", 0, start) + 1
        return Mutant(self._path, line, kind, self._source[start:end], new, start, end)

    def _text(self, node: ast.expr) -> str:
        return self._source[self._at(node) : self._at(node, is_end=True)]

    def _at(self, node: ast.expr | ast.stmt, *, is_end: bool = False) -> int:
        line, column = (node.end_lineno, node.end_col_offset) if is_end else (node.lineno, node.col_offset)
        assert line is not None and column is not None
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def drawn(under: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw so many changes, more where there are more lines."""
    chosen = random.Random(seed)
    places: dict[str, list[Mutant]] = {}
    lines: dict[str, int] = {}
    for folder in under:
        for path in sorted((ROOT / folder).rglob("*.py")) if (ROOT / folder).is_dir() else [ROOT / folder]:
            if "migrations" not in path.parts:
                name, source = str(path.relative_to(ROOT)), path.read_text()
                if valid := [*Places(name, source).found()]:
                    places[name], lines[name] = valid, source.count("\n")
    found: dict[tuple[str, int, int], Mutant] = {}
    for _ in range(10 * count):  # some do not parse, or are drawn again
        [path] = chosen.choices([*lines], [*lines.values()])
        one = chosen.choice(places[path])
        if len(found) < count and _parses(one, (ROOT / path).read_text()):
            found.setdefault((path, one.start, one.end), one)
    return [*found.values()]


def _parses(mutant: Mutant, source: str) -> bool:
    try:
        return ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def tried(mutant: Mutant, tests: Sequence[str]) -> dict[str, object]:
    """Plant a change, run the tests until the first fails, and take the change back."""
    path = ROOT / mutant.path
    source, began = path.read_text(), time.monotonic()
    path.write_text(mutant.applied(source))
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=ROOT, timeout=SECONDS, capture_output=True, text=True)
        code, last = done.returncode, (done.stdout.strip().splitlines() or [""])[-1]
        first = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), last)
    except subprocess.TimeoutExpired:
        code, first = 124, f"no answer within {SECONDS} s"
    finally:
        path.write_text(source)
    return {**asdict(mutant), "code": code, "killed": code != 0, "by": first, "seconds": time.monotonic() - began}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--under", default=",".join(ROOMS), help="folders or files, separated by commas")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("tests", nargs="*", default=["tests"], help="what pytest is given")
    asked = parser.parse_args()
    mutants = drawn(asked.under.split(","), asked.count, asked.seed)
    rows: list[dict[str, object]] = []
    for number, mutant in enumerate(mutants, 1):
        rows.append(asdict(mutant) if asked.list else tried(mutant, asked.tests))
        told = "" if asked.list else ("killed " if rows[-1]["killed"] else "SURVIVED ")
        sys.stderr.write(f"{number}/{len(mutants)} {told}{mutant.path}:{mutant.line} {mutant.kind}\n")
    killed = Counter(bool(row.get("killed")) for row in rows)
    found = {"tests": asked.tests, "killed": killed[True], "of": len(rows), "mutants": rows}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

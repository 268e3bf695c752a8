"""Edits: a function, one change to it, and the function again.

A rename changes one name everywhere, a parameter adds a line to the signature's end and one to the body, and a fix
takes back a fault that was put into the first version. All are made from the syntax tree, so the answer is real code.
"""

import ast
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from textwrap import dedent

from starter.copying.task import Task, digest

FEWEST_LINES, MOST_LINES = 7, 22
NAMES = ("chosen", "current", "each", "entry", "found", "given", "held", "kept", "latest", "part", "result", "wanted")
PARAMETERS = (  # parameter, then the lines that use it
    ("verbose=False", "if verbose:\n    print({name!r})"),
    ("dry_run=False", "if dry_run:\n    return None"),
    ("on_begin=None", "if on_begin is not None:\n    on_begin()"),
    ("limit=100", 'if limit < 1:\n    raise ValueError("The limit must be at least 1.")'),
)
FAULTS = {  # right: wrong
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: (" is ", " is not "),
    ast.IsNot: (" is not ", " is "),
    ast.In: (" in ", " not in "),
    ast.NotIn: (" not in ", " in "),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, str, str]  # code before, request, code after


def edits(source: str, code: str) -> Iterator[Task]:
    """Yield one edit of every usable function of a file. The kinds take turns, by a hash of the function."""
    for function in functions(code):
        dice = random.Random(digest(source + function))
        kinds = list(KINDS)
        dice.shuffle(kinds)
        for kind in kinds:
            change = KINDS[kind](function, dice)
            if change and parses(change[0]) and parses(change[2]):
                yield _task(*change, kind, source)
                break


def functions(code: str) -> Iterator[str]:
    """Yield functions and methods without decorators, in a length that leaves room for a second version."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, Function) and FEWEST_LINES <= (node.end_lineno or 0) - node.lineno + 1 <= MOST_LINES:
            text = dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
            if text.isascii() and parses(text) and text.splitlines()[0].endswith(":"):
                yield text


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


def _task(before: str, request: str, after: str, kind: str, source: str) -> Task:
    signature, rest = after.split("\n", 1)
    return Task(f"{before}\n\n\n# {request}\n{signature}", f"\n{rest}\n", kind, source)


def rename(function: str, dice: random.Random) -> Change | None:
    """Give a variable that stands in at least three places another name."""
    tree = ast.parse(function)
    words = set(re.findall(r"\w+", function))
    counts = Counter(_bound(tree))
    old_names = sorted(name for name, count in counts.items() if count >= 3 and name not in _untouchable(tree))
    new_names = [name for name in NAMES if name not in words]
    if not old_names or not new_names:
        return None
    old, new = dice.choice(old_names), dice.choice(new_names)
    after = _replaced(function, [(*place, len(old), new) for place in _places(tree, old)])
    return function, f"The same function, with {old} renamed to {new}:", after


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield every use of the names that the function itself binds."""
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arg)]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.arg for node in arguments} | {n.id for n in names if isinstance(n.ctx, ast.Store)}
    yield from (node.arg for node in arguments)
    yield from (node.id for node in names if node.id in bound)


def _untouchable(tree: ast.AST) -> set[str]:
    """Names that cannot be renamed by their places: Python before 3.12 does not know where an f-string's names are."""
    inside = (part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node))
    outer = (name for node in ast.walk(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names)
    return {"self", "cls", "_", *outer, *(part.id for part in inside if isinstance(part, ast.Name))}


def _places(tree: ast.AST, name: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.arg) and node.arg == name):
            yield node.lineno, node.col_offset


def _replaced(code: str, changes: list[tuple[int, int, int, str]]) -> str:
    """Replace pieces of code: (line, column, length, new text) each."""
    lines = code.splitlines()
    for line, column, length, new in sorted(changes, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + new + old[column + length :]
    return "\n".join(lines)


def parameter(function: str, dice: random.Random) -> Change | None:
    """Add a parameter with a default, and the lines that use it."""
    node = _only_function(function)
    taken, use = dice.choice(PARAMETERS)
    name = taken.split("=")[0]
    end = re.search(r"\)(?: -> [^\n]*)?:$", function.splitlines()[0])
    if end is None or name in function or node.args.kwarg or node.args.vararg or len(node.body) < 2:
        return None
    signature, *lines = function.splitlines()
    comma = "" if signature[: end.start()].endswith("(") else ", "
    first = node.body[1 if ast.get_docstring(node) else 0].lineno - 2
    added = [f"    {line}" for line in use.format(name=node.name).splitlines()]
    signature = f"{signature[: end.start()]}{comma}{taken}{signature[end.start() :]}"
    after = "\n".join([signature, *lines[:first], *added, *lines[first:]])
    return function, f"The same function, with the parameter {taken} added:", after


def fix(function: str, dice: random.Random) -> Change | None:
    """Put a fault into a comparison; the answer is the function without it."""
    comparisons = [
        node
        for node in ast.walk(ast.parse(function))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and node.lineno == node.end_lineno
    ]
    dice.shuffle(comparisons)
    for node in comparisons:
        right, wrong = FAULTS[type(node.ops[0])]
        line = function.splitlines()[node.lineno - 1]
        begin, end = node.left.end_col_offset or 0, node.comparators[0].col_offset
        if line[begin:end].strip() == right.strip() and node.left.end_lineno == node.lineno:
            piece = line[begin:end].replace(right, wrong)
            before = _replaced(function, [(node.lineno, begin, end - begin, piece)])
            if before != function and ast.unparse(node) in line:
                bad = line[node.col_offset : begin] + piece + line[end : node.end_col_offset]
                return before, f"Wrong: {bad}. Right: {ast.unparse(node)}. The same function, corrected:", function
    return None


def _only_function(code: str) -> Function:
    node = ast.parse(code).body[0]
    assert isinstance(node, Function)
    return node


KINDS: dict[str, Callable[[str, random.Random], Change | None]] = {"rename": rename, "parameter": parameter, "fix": fix}

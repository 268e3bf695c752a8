"""Imports between single files: no circles, and nothing of a test file. import-linter looks at layers of apps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
REMEDY = (
    "These files import one another in a circle. Move what they share into a third file that imports neither; if it is "
    "only a type, a Protocol there will do."
)
KIT = "These files import a test file, or the conftest of another room. Move what they need into tests/kit."
Graph = dict[str, set[str]]


def imports_of(root: Path, packages: list[str]) -> Graph:
    """Map each file to the files it imports, also inside functions and under TYPE_CHECKING."""
    files = {name_of(path.relative_to(root)): path for package in packages for path in (root / package).rglob("*.py")}
    return {
        name: {found for found in imported(name, path, set(files)) if found != name} for name, path in files.items()
    }


def name_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported(name: str, path: Path, files: set[str]) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name in files)
            case ast.ImportFrom():
                base = package[: len(package) + 1 - node.level] if node.level else []
                module = ".".join([*base, *filter(None, [node.module])])
                for alias in node.names:
                    yield from [f for f in (f"{module}.{alias.name}", module) if f in files][:1]


def circles(graph: Graph) -> list[frozenset[str]]:
    """Find groups of two or more files that all reach one another."""
    reached = {name: reachable(graph, name) for name in graph}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted((group for group in groups if len(group) > 1), key=sorted)


def reachable(graph: Graph, name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        fresh = graph[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def described(graph: Graph, circle: frozenset[str]) -> str:
    return "\n".join(f"  {name} imports {', '.join(sorted(graph[name] & circle))}" for name in sorted(circle))


def test_no_files_import_one_another():
    graph = imports_of(ROOT, ["decoding", "webapp", "worker"])
    found = [described(graph, circle) for circle in circles(graph)]
    assert not found, "\n\n".join([REMEDY, *found])


def test_a_circle_of_three_is_found_also_through_functions_and_types(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "roof.py").write_text("from house import wall\n")
    (package / "wall.py").write_text("def lay():\n    from .floor import stone\n")
    (package / "floor.py").write_text("if TYPE_CHECKING:\n    from house.roof import beam\n")
    (package / "garden.py").write_text("import house.roof\n")
    assert circles(imports_of(tmp_path, ["house"])) == [frozenset({"house.roof", "house.wall", "house.floor"})]


def of_tests(graph: Graph) -> list[str]:
    """Imports of test files, and of another room's conftest."""
    found = ((name, other) for name in graph for other in graph[name])
    return sorted(
        f"  {name} imports {other}"
        for name, other in found
        if ".test_" in f".{other}"
        or (other.endswith(".conftest") and not name.startswith(other.removesuffix("conftest")))
    )


def test_nobody_imports_a_test_file_or_another_rooms_conftest_and_the_kit_holds_no_test():
    found = of_tests(imports_of(ROOT, ["tests", "benchmarks", "docker"]))
    assert not found, "\n".join([KIT, *found])
    assert not [path for path in ROOT.glob("tests/kit/**/*.py") if re.search(r"^\s*def test_", path.read_text(), re.M)]


def test_the_lint_finds_an_import_of_a_test_file_in_a_function_and_of_a_conftest(tmp_path):
    for name in ("one", "two"):
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / "conftest.py").touch()
    (tmp_path / "tests" / "one" / "test_roof.py").write_text("def lay():\n    from tests.two.test_floor import stone\n")
    (tmp_path / "tests" / "two" / "test_floor.py").write_text(
        "from tests.one.conftest import a\nfrom tests.two.conftest import b\n"
    )
    assert of_tests(imports_of(tmp_path, ["tests"])) == [
        "  tests.one.test_roof imports tests.two.test_floor",
        "  tests.two.test_floor imports tests.one.conftest",
    ]

"""Imports between single files: no circles, and nothing of a test file. import-linter looks at layers of apps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[3]
REMEDY = (
    "import one another in a circle. Move what they share into a third file that imports neither; if it is only a "
    "type, a Protocol there will do."
)
KIT = "These files import a test file, or the conftest of another room. Move what they need into tests/kit."


def imports_of(monkeypatch: pytest.MonkeyPatch, *packages: str) -> Mapping[str, set[str]]:
    """Map each file to the files it imports, also inside functions and under TYPE_CHECKING."""
    monkeypatch.syspath_prepend(ROOT)
    graph = grimp.build_graph(*packages, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def test_no_files_import_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        TopologicalSorter(imports_of(monkeypatch, "decoding", "webapp", "worker")).prepare()
    except CycleError as found:
        pytest.fail(f"{', '.join(found.args[1])} {REMEDY}")


def test_nobody_imports_a_test_file_or_another_rooms_conftest_and_the_kit_holds_no_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imports = imports_of(monkeypatch, "tests", "benchmarks", "docker")
    assert "tests.kit.models" in imports["tests.kit.gguf_files"], "which imports it in a function"
    found = [
        f"{name} imports {other}"
        for name, others in imports.items()
        for other in others
        if ".test_" in other or (other.endswith(".conftest") and not name.startswith(other.removesuffix("conftest")))
    ]
    assert not found, "\n".join([KIT, *found])
    assert not [path for path in ROOT.glob("tests/kit/**/*.py") if re.search(r"^\s*def test_", path.read_text(), re.M)]

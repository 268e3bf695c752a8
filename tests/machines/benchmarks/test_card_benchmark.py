"""The first minutes on a GPU, rehearsed on a CPU: steps end one by one, whatever becomes of the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks import _card_step, _card_tests, _steps
from benchmarks._card import Card
from benchmarks._pair_shapes import PAIRS, PairShape
from benchmarks._steps import Step

pytestmark = pytest.mark.slow

HANGS = (
    "import subprocess, sys, time; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); time.sleep(600)"
)


def python(name: str, code: str, *more: str, limit_s: float = 60) -> Step:
    return Step(name, (sys.executable, "-c", code, *more), limit_s)


def writes(name: str, then: str = "") -> Step:
    return python(name, "import sys; open(sys.argv[1], 'a').write('{\"number\": 1}\\n{\"num')\n" + then, "{rows}")


def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / _steps.ALL).read_text())
    return found


def test_a_step_that_fails_or_hangs_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    steps = [
        writes("breaks", "raise RuntimeError('the card fell off')"),
        python("hangs", HANGS, limit_s=3),
        writes("works"),
    ]
    assert _steps.run(steps, tmp_path, minutes=5) == 2
    found = results(tmp_path)
    assert [row["state"] for row in found.values()] == ["failed with code 1", "timed out", "done"]
    assert "the card fell off" in found["breaks"]["output"][-1]
    assert found["breaks"]["rows"] == found["works"]["rows"] == [{"number": 1}]  # a row that was cut off is no row
    deadline = time.monotonic() + 300
    while any(is_running(int(child)) for child in found["hangs"]["output"]):  # none if it had no time to start one
        assert time.monotonic() < deadline, "what a step started outlived it"


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_step_that_has_its_file_is_not_run_again_and_its_results_stay(tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "folder"
    assert _steps.run([writes("first")], folder, minutes=0.01) == 1, "without time nothing is begun"
    assert _steps.run([writes("first"), python("broken", "exit(3)")], folder, minutes=5, copy_to=out) == 1
    (folder / "first.json").unlink()  # another machine, to which only card.json was brought
    assert _steps.run([python("first", "exit(1)"), writes("second")], folder, minutes=5, copy_to=out) == 0
    assert {*results(folder)} == {"first", "broken", "second"} and results(out) == results(folder)
    assert _steps.run([writes("broken")], folder, minutes=5, is_again=True) == 0


def test_every_file_with_gpu_tests_is_run_and_its_types_are_checked() -> None:
    """They run seldom: without types nobody would see that the code has moved on."""
    found = {str(path.relative_to(_steps.ROOT)) for path in _card_tests.files()}
    assert found
    mypy = tomllib.loads((_steps.ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert found <= {*mypy["files"]}
    typed = next(override for override in mypy["overrides"] if override.get("ignore_errors") is False)["module"]
    assert {file.removesuffix(".py").replace("/", ".") for file in found} <= {*typed}


@pytest.mark.parametrize(("part", "sections"), [
    ("env", "copy env read"), ("queue", "small"), ("products", "product products"), ("attend", "attend"),
    ("pass", "loop pass queued"), ("texts", "audits text"), ("cores", "cores"), ("load", "audits load"),
])  # fmt: skip
def test_a_part_writes_the_rows_that_it_is_named_for(tmp_path: Path, part: str, sections: str) -> None:
    before, rows = os.sched_getaffinity(0), tmp_path / "rows.jsonl"
    broken = Card(rows, "8B", is_tiny=True)
    broken.shape = PairShape(PAIRS["tiny"].sizes | {"num_attention_heads": 5}, 1, False)
    assert part != "pass" or not _card_step.ran(broken, part), "a part that fails lets the next one run"
    assert _card_step.ran(Card(rows, "8B", is_tiny=True), part)
    assert os.sched_getaffinity(0) == before, "host cores are given back"
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert {*sections.split()} <= {row["section"] for row in found}
    for row in found:
        audits = row.get("audits", [row["audit"]] if row.get("section") == "text" else [])
        assert {audit["outcome"] for audit in audits} <= {"identical"}
        if part == "attend":  # the numbers of float64
            assert all(row[way]["off"] < 0.02 for way in ("default", "steps", "math", "without a mask"))


def test_the_repository_fits_on_a_machine_that_is_lent() -> None:
    """Such a machine gets the tracked files, 64 MiB at most."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_steps.ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    files = [_steps.ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    assert sum(file.lstat().st_size for file in files if file.exists()) <= 60 * 2**20

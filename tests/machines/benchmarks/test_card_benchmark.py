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
import torch

from benchmarks import _card_kernels, _card_step, _card_tests, _card_texts, _steps, card
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


def test_a_step_that_has_its_file_is_not_run_again_unless_it_failed_and_that_is_asked_for(tmp_path: Path) -> None:
    count = (
        "import sys, pathlib; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text() + 'x' if p.exists() else 'x')"
    )
    steps = [
        python("works", count, str(tmp_path / "of-works")),
        python("fails", count + "; sys.exit(3)", str(tmp_path / "of-fails")),
    ]
    for is_again in (False, False, True):
        assert _steps.run(steps, tmp_path, minutes=5, is_again=is_again) == 1
    assert [(tmp_path / f"of-{step.name}").read_text() for step in steps] == ["x", "xx"]


def test_without_time_nothing_is_begun_and_nothing_counts_as_run(tmp_path: Path) -> None:
    assert _steps.run([writes("late")], tmp_path, minutes=0.01) == 1
    assert results(tmp_path) == {} and not (tmp_path / "late.json").exists()
    assert _steps.run([writes("late")], tmp_path, minutes=5) == 0


def test_a_step_finds_packages_where_its_starter_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "carried_along.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert _steps.run([python("imports", "import carried_along, benchmarks.card")], tmp_path, minutes=5) == 0


def test_a_step_finds_no_numba_where_it_asks_for_none(tmp_path: Path) -> None:
    """Compiling by numba takes longer than a short step has."""
    code = "from decoding.models.fast import lean\ntry:\n    import numba\nexcept ImportError:\n    raise SystemExit(7)"
    assert _steps.run([Step("hidden", (sys.executable, "-c", code), 60, without_numba=True)], tmp_path, minutes=5) == 1
    assert results(tmp_path)["hidden"]["state"] == "failed with code 7"


def test_results_of_earlier_calls_stay_and_a_copy_goes_where_results_are_fetched(tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "folder"
    _steps.run([writes("first"), python("broken", "raise SystemExit(1)")], folder, minutes=5, copy_to=out)
    for file in ("first.json", "broken.json"):
        (folder / file).unlink()  # another machine, to which only card.json was brought
    assert _steps.run([writes("first"), writes("second")], folder, minutes=5, copy_to=out) == 0
    assert {*results(folder)} == {"first", "broken", "second"}
    assert results(out) == results(folder) and [file.name for file in out.iterdir()] == [_steps.ALL]


def test_the_plans_have_every_part_and_steps_of_different_names() -> None:
    for is_tiny in (False, True):
        found = [step for plan in card.PLANS for step in card.steps(plan, is_tiny)]
        assert len({step.name for step in found}) == len(found)
        parts = {part for step in found for part in step.command if part in _card_step.PARTS}
        assert parts == {*_card_step.PARTS}


def test_every_file_with_gpu_tests_is_run_and_its_types_are_checked() -> None:
    """They run seldom: without types nobody would see that the code has moved on."""
    found = {str(path.relative_to(_steps.ROOT)) for path in _card_tests.files()}
    assert {f"tests/parts/test_{name}.py" for name in ("ahead", "choosing", "ssd_lanes", "devices")} < found
    mypy = tomllib.loads((_steps.ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert found <= {*mypy["files"]}
    typed = next(override for override in mypy["overrides"] if override.get("ignore_errors") is False)["module"]
    assert {file.removesuffix(".py").replace("/", ".") for file in found} <= {*typed}


def test_a_file_of_tests_is_run_and_a_red_one_fails_its_step(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import warnings\ndef test_rehearsed():\n    warnings.warn('of a version that we do not know', FutureWarning)\n"
    )
    for name, more in (("green", ""), ("red", "    assert 1 == 2\n")):
        rows.with_name(f"test_{name}.py").write_text(code + more)
    made = [rows.with_name(f"test_{name}.py") for name in ("green", "red")]
    monkeypatch.setattr(_card_tests, "files", lambda: made)
    dry = Card(rows, "8B", is_tiny=True)
    _card_tests.tests(dry)
    assert dry.has_failed
    found = {row["file"]: row for row in read(rows)}
    assert found["test_green"]["code"] == 0 and "1 passed" in found["test_green"]["last"]
    assert found["test_red"]["code"] == 1 and "assert 1 == 2" in found["test_red"]["output"]


def test_the_repository_fits_on_a_machine_that_is_lent() -> None:
    """Such a machine gets the tracked files, 64 MiB at most."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_steps.ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    files = [_steps.ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    assert sum(file.lstat().st_size for file in files if file.exists()) <= 60 * 2**20


def test_the_command_runs_a_step_and_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--tiny", "--only", "env", "--folder", str(tmp_path)]
    assert card.main(asked) == 0
    sections = {row["section"] for row in results(tmp_path)["env"]["rows"]}
    assert sections == {"env", "copy", "read", "small", "fused kernels"}
    capsys.readouterr()
    assert card.main(asked) == 0
    assert "done before" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--minutes", "0"], ["--only", "abacus"]])
def test_what_cannot_be_run_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        card.main(wrong)
    assert ended.value.code == 2
    assert "above 0" in capsys.readouterr().err or wrong[1] == "abacus"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def read(rows: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text().splitlines()]


@pytest.mark.parametrize(("part", "sections"), [
    ("env", "copy env read"), ("queue", "small"), ("products", "product products"), ("attend", "attend"),
    ("pass", "loop pass queued"), ("texts", "audits text"), ("starter", "audits text"), ("cores", "cores"),
    ("load", "audits load"), ("disco", "classifier disco ssd"),
])  # fmt: skip
def test_a_part_writes_the_rows_that_it_is_named_for(rows: Path, part: str, sections: str) -> None:
    before = os.sched_getaffinity(0)
    assert _card_step.ran(Card(rows, "8B", is_tiny=True), part)
    assert os.sched_getaffinity(0) == before, "host cores are given back"
    found = read(rows)
    assert {*sections.split()} <= {row["section"] for row in found}
    for row in found:
        rates = (row[name] for name in ("ms", "GBps", "tokens_per_s", "of_copy") if name in row)
        assert all(rate > 0 for rate in rates)
        audits = row.get("audits", [row["audit"]] if row.get("section") == "text" else [])
        assert {audit["outcome"] for audit in audits} <= {"identical"}
        if part == "attend":  # the numbers of float64
            assert all(row[way]["off"] < 0.02 for way in ("default", "steps", "math", "without a mask"))


def test_gaps_at_first_differences_are_counted_by_size() -> None:
    audits = [{"outcome": "identical", "gap": None}, *({"outcome": "tie", "gap": gap} for gap in (0.0, 0.3, 8.0))]
    found = _card_texts.histogram([*audits, {"outcome": "divergent", "gap": 9.0}])
    assert found["outcomes"] == {"identical": 1, "tie": 3, "divergent": 1} and found["gaps"] == [0.0, 0.3, 8.0, 9.0]
    assert [*found["counts"].values()] == [1, 1, 0, 0, 0, 1, 1]


def test_texts_under_load_share_passes_as_on_a_card(rows: Path) -> None:
    pair = _card_texts.made_pair(Card(rows, "8B", is_tiny=True), PAIRS["tiny"], 64)
    places = _card_texts.Crowd(pair, [[1]], 8).places(3)
    for role in ("target", "draft"):
        caches = [getattr(place, role).cache for place in places]
        assert caches[0].slab and all(cache.slab is caches[0].slab for cache in caches)


def test_a_part_that_fails_leaves_its_error_and_lets_the_next_one_run(rows: Path) -> None:
    broken = Card(rows, "8B", is_tiny=True)
    broken.shape = PairShape(PAIRS["tiny"].sizes | {"num_attention_heads": 5}, 1, False)
    assert not _card_step.ran(broken, "pass")
    assert _card_step.ran(Card(rows, "8B", is_tiny=True), "queue")
    [failed, *rest] = read(rows)
    assert failed["section"] == "failed" and failed["part"] == "pass" and failed["trace"]
    assert {row["section"] for row in rest} == {"small"}


def test_a_way_of_attending_that_a_compiler_refuses_costs_the_others_nothing(rows: Path) -> None:
    class CompilationError(Exception):
        """Triton's own is no RuntimeError either."""

    def refuses() -> torch.Tensor:
        raise CompilationError("Loop-carried variable")

    assert "Loop-carried" in _card_kernels._attended(Card(rows, "8B", is_tiny=True), refuses, torch.zeros(1))

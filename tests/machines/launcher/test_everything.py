"""Command for tests, beyond running them: it names unsteady tests, takes few in a quick run, and shows the dearest."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.everything import FEW, ROOT, all_pass


@pytest.fixture(autouse=True)
def in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def write(folder: Path, *bodies: str) -> None:
    tests = "".join(f"def test_{number}():\n    {body}\n\n" for number, body in enumerate(bodies))
    (folder / "test_some.py").write_text(f"import pathlib\n\nPLACE = pathlib.Path('been')\n\n{tests}")


PASSES = "pass"
FAILS = "assert False"
FAILS_ONCE = "been = PLACE.exists(); PLACE.touch(); assert been"


@pytest.mark.parametrize(
    ("bodies", "passes", "told", "again"),
    [
        ([PASSES, FAILS_ONCE], True, "Unsteady, to be mended: test_some.py::test_1 failed beside", True),
        ([FAILS] * (FEW + 1), False, f"{FEW + 1} failed in", False),
    ],
    ids=["one passes alone", "many fail"],
)
def test_a_test_that_fails_alone_too_fails_the_build_and_one_that_passes_then_is_named(
    tmp_path, capfd, bodies, passes, told, again
):
    write(tmp_path, *bodies)
    assert all_pass(tmp_path, []) is passes
    said = "".join(capfd.readouterr())
    assert told in said and "test_0 failed beside" not in said and ("once more, alone" in said) is again


ROOMS = """
import pytest

def test_part(): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.browser
@pytest.mark.smoke
def test_smoke(): pass
"""


def test_a_quick_run_takes_laws_parts_and_smoke_tests(tmp_path, capfd):
    for room in ("parts", "doors"):
        (tmp_path / room).mkdir()
        (tmp_path / room / f"test_{room}.py").write_text(ROOMS)
    assert all_pass(tmp_path, ["-p", "tests.conftest", "--quick", "--collect-only", "-q"])
    told = capfd.readouterr().out
    assert re.findall(r"::(\w+)", told) == ["test_smoke", "test_part", "test_smoke"] and "3 deselected" in told


BURN = "import time\nwhile time.process_time() < 0.5: pass"


def test_a_run_shows_how_far_it_is_what_fails_and_which_tests_were_slow_with_the_processes_they_started(
    tmp_path, capfd
):
    burns = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}], check=True)"
    write(tmp_path, PASSES, FAILS, burns)
    assert not all_pass(tmp_path, ["-p", "tests.clock", "--time-left", "--slowest", "-n", "2"])
    told = capfd.readouterr().out.splitlines()
    assert [line for line in told if " of 3 tests" in line][-1].startswith("3 of 3 tests")
    assert "failed: test_some.py::test_1" in told
    table = told[next(number for number, line in enumerate(told) if "slowest tests of 3" in line) + 1 :]
    assert re.fullmatch(r" +0\.[5-9]\d test_some.py::test_2", table[0]), table[:3]


def test_the_last_line_says_what_was_skipped_and_ci_fails_then(tmp_path):
    two = "import pytest\n@pytest.mark.browser\n@pytest.mark.parametrize('n', [1, 2])\ndef test_page(n): assert False\n"
    (tmp_path / "test_pages.py").write_text(two)
    settings = {"CI": "true", "DRAFTHOUSE_CHROMIUM": "none", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "xdist", "-n", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "2 skipped" in done.stdout, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("2 tests were skipped: Chromium is not on this machine. With CI=true that is a failure.")

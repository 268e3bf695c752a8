"""Command for tests, beyond running them: it names unsteady tests, and shows where the time goes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.everything import FEW, ROOT, all_pass

pytestmark = pytest.mark.usefixtures("in_a_project_of_its_own")


@pytest.fixture
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
        ([PASSES, PASSES], True, "2 passed in", False),
        ([PASSES, FAILS_ONCE], True, "Unsteady, to be mended: test_some.py::test_1 failed beside", True),
        ([FAILS, FAILS_ONCE], False, "test_some.py::test_1 failed beside", True),
        ([FAILS] * (FEW + 1), False, f"{FEW + 1} failed in", False),
        (["pass\n\nimport no_such_module_at_all"], False, "1 error in", False),
    ],
    ids=["all pass", "one passes alone", "one fails again", "many fail", "a module is missing"],
)
def test_a_test_that_fails_alone_too_fails_the_build_and_one_that_passes_then_is_named(
    tmp_path, capfd, bodies, passes, told, again
):
    write(tmp_path, *bodies)
    assert all_pass(tmp_path, []) is passes
    said = "".join(capfd.readouterr())
    assert told in said and "test_0 failed beside" not in said and ("once more, alone" in said) is again


DEAR = r"""
import subprocess
import sys
import time

import pytest

BURN = "import time\nwhile time.process_time() < 0.4: pass\nprint(flush=True)\ninput()"


def burn():
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass


def started():
    process = subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


@pytest.fixture(scope="module")
def living():
    process = started()
    yield
    process.communicate(b"\n")
    burn()


@pytest.fixture
def each(living):
    burn()


def test_of_its_own(each):
    burn()


def test_of_a_process(each):
    started().communicate(b"\n")
"""


def test_the_slowest_are_shown_with_the_processes_they_started(tmp_path: Path) -> None:
    (tmp_path / "test_dear.py").write_text(DEAR)
    command = [sys.executable, "-m", "pytest", "-p", "tests.clock", "--slowest", "-n", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and " passed in " in done.stdout.splitlines()[-1], done.stdout + done.stderr
    found = re.findall(r"^\| *(\S+) \| *(\S+) \| *\S+ \| *(\d+) \| (?:\S+::)?(\S+) \|$", done.stdout, re.M)
    rows = {name: (round(float(own) / 0.4), round(float(child) / 0.4), int(times)) for own, child, times, name in found}
    assert rows["living"] == (1, 1, 1) and rows["each"] == (2, 0, 2)
    assert rows["test_of_its_own"] == (2, 0, 1) and rows["test_of_a_process"] == (1, 1, 1)
    assert rows["test_dear.py"] == (4, 2, 2)


def test_a_run_shows_how_far_it_is_and_what_fails_and_ends_as_pytest_does(tmp_path, capfd):
    write(tmp_path, PASSES, FAILS, PASSES)
    assert not all_pass(tmp_path, ["-p", "tests.clock", "--time-left", "-n", "2"])
    told = capfd.readouterr().out.splitlines()
    assert [line for line in told if " of 3 tests" in line][-1].startswith("3 of 3 tests")
    assert "failed: test_some.py::test_1" in told


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


GREEDY = "import torch; torch.set_num_threads(2)"
ALONE = "import torch; assert torch.get_num_threads() == 1"


def test_threads_that_a_test_takes_are_taken_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, GREEDY, ALONE)
    assert all_pass(tmp_path, ["-p", "tests.conftest"]) and "2 passed in" in capfd.readouterr().out

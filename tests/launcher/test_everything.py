"""Tests that fail beside others and pass alone are named, and fail no build; all others do."""

from pathlib import Path

import pytest

from tests.everything import FEW, all_pass

pytestmark = pytest.mark.usefixtures("in_a_project_of_its_own")


@pytest.fixture
def in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "DJANGO_SETTINGS_MODULE"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, *bodies: str) -> None:
    tests = "".join(f"def test_{number}():\n    {body}\n\n" for number, body in enumerate(bodies))
    (folder / "test_some.py").write_text(f"import pathlib\n\nPLACE = pathlib.Path('been')\n\n{tests}")


PASSES = "pass"
FAILS = "assert False"
FAILS_ONCE = "been = PLACE.exists(); PLACE.touch(); assert been"


def test_tests_that_pass_run_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PASSES, PASSES)
    assert all_pass(tmp_path, [])
    assert capfd.readouterr().out.count("passed in") == 1


def test_a_test_that_passes_alone_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PASSES, FAILS_ONCE)
    assert all_pass(tmp_path, [])
    told = capfd.readouterr()
    assert "Unsteady, to be mended: test_some.py::test_1 failed beside" in told.out + told.err


def test_a_test_that_fails_again_fails_the_build(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, FAILS, FAILS_ONCE)
    assert not all_pass(tmp_path, [])
    told = capfd.readouterr()
    assert "test_1 failed beside" in told.out + told.err
    assert "test_0 failed beside" not in told.out + told.err


def test_many_failures_are_no_chance(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, *[FAILS] * (FEW + 1))
    assert not all_pass(tmp_path, [])
    assert capfd.readouterr().out.count("failed in") == 1


def test_a_module_that_cannot_be_imported_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("import no_such_module_at_all\n")
    assert not all_pass(tmp_path, [])


def test_workers_that_collect_different_tests_fail_the_build_at_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_some.py").write_text(
        "import os\n\nimport pytest\n\n\n@pytest.mark.parametrize('number', [os.getpid()])\ndef test(number): pass\n"
    )
    assert not all_pass(tmp_path, ["-n", "2"])
    told = capfd.readouterr()
    assert "Different tests were collected" in told.out and "once more" not in told.out + told.err

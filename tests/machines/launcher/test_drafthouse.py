"""The launcher, copied beside requirements of its own and started as a user starts it; and the help of every command,
asked of a Python without any packages."""

import os
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAUNCHER = ROOT / "drafthouse"
DEADLINE = 600.0  # s, for things that take seconds: the machine may be busy


class Box:
    """A folder with the launcher, one requirement that needs no network, and a `compare` that prints its arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(LAUNCHER, folder)
        (folder / "requirements.txt").write_text("-r requirements-web.txt\n")
        self.require("1.0")
        (folder / "worker" / "terminal").mkdir(parents=True)
        (folder / "worker" / "terminal" / "compare.py").write_text(
            "import os, sys, hops\nprint(hops.VERSION, os.getcwd(), *sys.argv[1:])\nsys.exit(7)\n"
        )

    def require(self, version: str) -> None:
        """Require a wheel that is made here and now."""
        wheel = self.folder / f"hops-{version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            about = f"hops-{version}.dist-info"
            archive.writestr("hops.py", f"VERSION = {version!r}\n")
            archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: hops\nVersion: {version}\n")
            archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{about}/RECORD", "")
        (self.folder / "requirements-web.txt").write_text(f"./{wheel.name}  # ours\n")

    def start_without_end(self) -> "subprocess.Popen[str]":
        """Start it with a pip that waits for ever, and return when pip is about to."""
        nobody_writes = self.folder / "nobody-writes"  # pip reads it first, in vain
        os.mkfifo(nobody_writes)
        process = self.start("compare", PIP_CONSTRAINT=str(nobody_writes))
        while not (self.folder / ".venv" / "unfinished").exists():
            assert process.poll() is None, "the set-up ended before pip began"
        return process

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, self.folder / "drafthouse", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where a shell runs tests with &
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=DEADLINE)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Box, tuple[int, str, str]]:
    """A box, and its first start."""
    box = Box(tmp_path_factory.mktemp("box"))
    return box, box.run("compare", "--pair", "starter")


@pytest.fixture
def box(first: tuple[Box, tuple[int, str, str]]) -> Box:
    """Prepared once; the tests that share it may run in any order."""
    return first[0]


@pytest.mark.smoke
def test_the_first_start_prepares_everything_and_says_so(first: tuple[Box, tuple[int, str, str]]) -> None:
    code, out, err = first[1]
    assert (code, out) == (7, "1.0 / --pair starter\n")
    assert [line.split(" … ")[0] for line in err.splitlines()] == ["Making .venv", "Installing requirements.txt"]


def test_a_changed_requirement_is_installed_even_in_an_included_file(box: Box) -> None:
    box.require("2.0")
    code, out, err = box.run("compare")
    assert (code, out) == (7, "2.0 /\n")
    assert err.startswith("Installing requirements.txt")


def test_a_requirement_that_cannot_be_had_is_told_and_harms_nothing(box: Box) -> None:
    box.run("compare")
    wanted = (box.folder / "requirements-web.txt").read_text()
    (box.folder / "requirements-web.txt").write_text("./gone-1.0-py3-none-any.whl\n")
    code, out, err = box.run("compare")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == "pip could not install requirements.txt; all it said is in .venv/pip.log."

    (box.folder / "requirements-web.txt").write_text(wanted)
    code, _, err = box.run("compare")
    assert (code, err) == (7, "")


def test_a_set_up_that_was_killed_is_begun_anew(box: Box) -> None:
    box.require("3.0")
    process = box.start_without_end()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    code, out, err = box.run("compare")
    assert (code, out) == (7, "3.0 /\n")
    assert err.startswith("Making .venv")


def test_a_benchmark_of_a_card_takes_the_torch_that_is_there(tmp_path: Path) -> None:
    """No pip, no .venv: a machine with a GPU may have no network."""
    box = Box(tmp_path)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "card.py").write_text("import sys, torch\nprint(torch.NAME, *sys.argv[1:])\n")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "torch.py").write_text("NAME = 'the one that is there'\n")
    torch = {"PYTHONPATH": str(tmp_path / "packages")}
    assert box.run("bench", "card", "--tiny", **torch) == (0, "the one that is there --tiny\n", "")
    assert not (tmp_path / ".venv").exists()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Ask the launcher of a checkout by a Python that has no packages."""
    folder, checkout = tmp_path_factory.mktemp("python"), tmp_path_factory.mktemp("checkout")
    venv.create(folder, symlinks=True)
    shutil.copy(LAUNCHER, checkout)
    for name in ("benchmarks", "decoding", "docs", "starter", "tests", "webapp", "worker"):
        (checkout / name).symlink_to(ROOT / name)
    before = sorted(checkout.iterdir())

    def ask(*arguments: str) -> str:
        command = [folder / "bin" / "python", checkout / "drafthouse", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        assert sorted(checkout.iterdir()) == before, "help must install nothing"
        return done.stdout

    return ask


def test_every_command_answers_help_where_nothing_is_installed(asked: Callable[..., str]) -> None:
    commands = [line.split()[0] for line in asked("--help").split("\n\n")[1].splitlines()]
    assert len(commands) > 15
    for command in (*commands, "bench engine"):
        told = asked(*command.split(), "--help" if command < "d" else "-h")
        assert told.startswith(f"usage: ./drafthouse {command} ")


def test_the_documentation_is_read_where_nothing_is_installed(asked: Callable[..., str]) -> None:
    assert asked("docs", "servers").rstrip() == (ROOT / "docs/servers.md").read_text().rstrip()

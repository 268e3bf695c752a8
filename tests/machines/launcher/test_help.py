"""The help of every command, asked of a Python without any packages in a checkout where nothing was installed yet."""

import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "drafthouse").write_bytes((ROOT / "drafthouse").read_bytes())
    for name in ("benchmarks", "decoding", "docs", "starter", "tests", "webapp", "worker"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def asked(python: Path, checkout: Path, *arguments: str) -> str:
    before = sorted(checkout.iterdir())
    done = subprocess.run([python, checkout / "drafthouse", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), arguments
    assert sorted(checkout.iterdir()) == before, "help must install nothing"
    return done.stdout


def test_every_command_answers_help_where_nothing_is_installed(python: Path, checkout: Path) -> None:
    lines = asked(python, checkout, "--help").split("\n\n")[1].splitlines()
    commands = [line.split()[0] for line in lines]
    assert len(commands) > 15
    for command in (*commands, "bench engine"):
        option = "--help" if command < "d" else "-h"
        told = asked(python, checkout, *command.split(), option)
        assert told.startswith(f"usage: ./drafthouse {command} ")


def test_the_documentation_is_read_where_nothing_is_installed(python: Path, checkout: Path) -> None:
    assert asked(python, checkout, "docs", "servers").rstrip() == (ROOT / "docs/servers.md").read_text().rstrip()

"""The help of every command, asked of a Python without any packages in a checkout where nothing was installed yet."""

import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "up",
    "compare",
    "plan",
    "oracle",
    "project",
    "papers",
    "models",
    "export",
    "train-disco",
    "bench",
    "token",
    "backup",
    "restore",
    "doctor",
    "docs",
    "ask",
    "send",
    "test",
)
BENCHMARKS = [f"bench {path.stem}" for path in sorted((ROOT / "benchmarks").glob("[a-z]*.py"))]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "drafthouse").write_bytes((ROOT / "drafthouse").read_bytes())
    for name in ("benchmarks", "decoding", "starter", "tests", "webapp", "worker"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def asked(python: Path, checkout: Path, *arguments: str) -> str:
    before = sorted(checkout.iterdir())
    done = subprocess.run([python, checkout / "drafthouse", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(checkout.iterdir()) == before, "help must install nothing"
    return done.stdout


@pytest.mark.parametrize("command", [*COMMANDS, *BENCHMARKS])
def test_help_is_answered_where_nothing_is_installed(python: Path, checkout: Path, command: str) -> None:
    """By the long option for every other command, and by the short one for those between."""
    option = ("--help", "-h")[[*COMMANDS, *BENCHMARKS].index(command) % 2]
    assert asked(python, checkout, *command.split(), option).startswith(f"usage: ./drafthouse {command} ")


def test_help_is_the_parsers_own(python: Path, checkout: Path) -> None:
    from worker.terminal.arguments import catalogue

    assert asked(python, checkout, "compare", "--limit", "2", "--help").endswith(catalogue() + "\n")


def test_the_help_of_test_names_its_checks(python: Path, checkout: Path) -> None:
    told = asked(python, checkout, "test", "tests/machines/launcher", "--help")
    assert all(words in told for words in ("ruff check", "mypy", "import contracts", "node --test", "CI=true"))


def test_every_command_of_the_usage_is_tested_here(python: Path, checkout: Path) -> None:
    lines = asked(python, checkout, "--help").split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(COMMANDS)


def test_the_documentation_is_read_where_nothing_is_installed(python: Path, checkout: Path) -> None:
    (checkout / "docs").symlink_to(ROOT / "docs")
    assert "  servers  " in asked(python, checkout, "docs")
    assert asked(python, checkout, "docs", "servers").rstrip() == (ROOT / "docs/servers.md").read_text().rstrip()
    odd = subprocess.run(
        [python, checkout / "drafthouse", "docs", "serves"], capture_output=True, text=True, check=False
    )
    assert odd.returncode == 2 and "Did you mean servers?" in odd.stderr

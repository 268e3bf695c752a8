"""Images hold the program and nothing of the machine on which they were built."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.machines.launcher.docker_ignore import sent

ROOT = Path(__file__).parents[3]
PROGRAM = (
    "decoding", "docs", "starter/defaults.json", "starter/pair", "starter/prompts", "static", "templates", "webapp",
    "worker",
)  # fmt: skip
PLANTED = (
    ".aws/credentials", ".ci/run", ".env", ".env.production", ".git/config", ".npmrc", "backup.tar",
    "benchmarks/engine.py", "data/drafthouse.sqlite3", "data/secrets/secret_key", "docker/try/smoke.py",
    "CONTRIBUTING.md", "drafthouse.sqlite3", "id_rsa", "requirements-dev.txt", "secrets/postgres_password",
    "starter/train.py", "static/vendor/htmx.js", "templates/core/.env.local", "tests/conftest.py", "webapp/.env",
    "webapp/__pycache__/secrets.cpython-312.pyc", "webapp/config/tls.key", "webapp/config/tls.pem",
    "worker/db.sqlite3-wal", "worker/secrets/token",
)  # fmt: skip

pytestmark = pytest.mark.skipif(
    not ((ROOT / ".git").exists() and shutil.which("git")), reason="git is not installed, or this is no checkout of it"
)


def tracked(*paths: str) -> set[str]:
    return set(
        subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout by name, with secrets in it."""
    root = tmp_path_factory.mktemp("checkout")
    for name in {*tracked(), *PLANTED}:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    shutil.copy(ROOT / ".dockerignore", root)
    return root


def test_no_secret_test_or_document_reaches_an_image(tree: Path) -> None:
    assert set(sent(tree)).isdisjoint(PLANTED)


def test_the_whole_program_reaches_the_images(tree: Path) -> None:
    program = {name for name in tracked(*PROGRAM) if not Path(name).name.startswith(".")}
    others = {"CHANGELOG.md", "LICENSE", "manage.py", "package-lock.json", "package.json"}
    assert set(sent(tree)) == program | others | {"requirements-web.txt", "requirements.txt"}


@pytest.mark.parametrize("name", [".env", ".env.production", "secrets/postgres_password", "tls.key", "tls.pem"])
def test_git_never_takes_a_secret(name: str) -> None:
    assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT).returncode == 0

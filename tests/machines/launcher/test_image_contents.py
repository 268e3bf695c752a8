"""Images hold the program and nothing of the machine on which they were built."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = {
    "CHANGELOG.md", "LICENSE", "decoding", "docs", "manage.py", "package-lock.json", "package.json",
    "requirements-web.txt", "requirements.txt", "starter/defaults.json", "starter/pair", "starter/prompts", "static",
    "templates", "webapp", "worker",
}  # fmt: skip
SECRET = {"**/.*", "**/secrets", "**/*.key", "**/*.pem", "**/*.sqlite3*", "**/__pycache__", "static/vendor"}


def test_the_program_reaches_an_image_and_no_secret_in_its_folders_does() -> None:
    """Docker lets the last rule that fits decide: first nothing, then the program, then never a secret."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    nothing, *rules = [line for line in lines if line and not line.startswith("#")]
    assert nothing == "*"
    assert {rule.removeprefix("!") for rule in rules[: len(PROGRAM)]} == PROGRAM
    never = rules[len(PROGRAM) :]
    assert {*never} >= SECRET and not any(rule.startswith("!") for rule in never)


def test_git_never_takes_a_secret() -> None:
    for name in (".env", ".env.production", "secrets/postgres_password", "tls.key", "tls.pem"):
        assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT).returncode in (0, 128)  # no checkout

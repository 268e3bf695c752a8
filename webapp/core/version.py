"""Version of this code: the first heading of the changelog, `## 0.2.0 (unreleased)`, and the commit, where it is known:
`0.2.0+g1a2b3c4d5e6f`. As a program it prints both."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def release() -> str:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("## "))


@functools.cache
def version() -> str:
    """Return release and commit. An image is told its commit when it is built; a clone asks git."""
    commit = os.environ.get("DRAFTHOUSE_COMMIT") or _checked_out()
    return f"{release()}+g{commit[:12]}" if commit else release()


def _checked_out() -> str:
    if not (ROOT / ".git").exists():
        return ""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # of a hook's repository
    command = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD"]  # a service runs in another user's clone
    try:
        asked = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True)
    except OSError:  # git is not installed
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


if __name__ == "__main__":
    sys.stdout.write(f"drafthouse {version()}\n")

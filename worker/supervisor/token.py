"""`./drafthouse token`: a key for scripts, or a way in for somebody who forgot their password."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from worker.supervisor.data_folder import set_up


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse token", description="Print an API token for scripts.")
    parser.add_argument("--scope", choices=("read", "submit", "admin"), default="submit", help="(%(default)s)")
    parser.add_argument("--days", type=int, default=90, help="how long it is valid (%(default)s)")
    parser.add_argument("--name", default="command line", help="what the tokens page calls it")
    parser.add_argument("--data", type=Path, help="the data folder that `up` was given, if it was given one")
    parser.add_argument("--sign-in", action="store_true", help="print a one-time sign-in link instead")
    parser.add_argument("--user", default="", help="whom the link signs in; the first owner unless given")
    asked = parser.parse_args(argv)
    if not 1 <= asked.days <= 3650:
        sys.exit(f"--days is {asked.days}; it must lie between 1 and 3650.")
    set_up(asked.data)
    from django.conf import settings

    from webapp.accounts import actor, services
    from webapp.accounts.models import Scope
    from webapp.core import start

    start.look()
    with start.refused():
        if asked.sign_in:
            told = address(Path(settings.DATA_DIR)) + services.sign_in_path(asked.user)
        else:
            by = actor.of_user(services.first_owner())
            told = services.create_token(name=asked.name, scope=Scope(asked.scope), days=asked.days, by=by)[1]
    sys.stdout.write(f"{told}\n")


def address(data: Path) -> str:
    """Address of the running `up` that serves this folder; empty if none does, or it runs elsewhere."""
    try:
        return str(json.loads((data / "drafthouse.lock").read_text())["address"])
    except (OSError, ValueError, KeyError):
        return ""


if __name__ == "__main__":
    main(sys.argv[1:])

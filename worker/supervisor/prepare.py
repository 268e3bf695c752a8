"""`python -m worker.supervisor.prepare [--demo]`: bring database and static files up to date, load the starter pair and
prompts, print the path of a one-time sign-in link. A process of its own, so that the supervisor stays small."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import django

from webapp.backup import switching
from worker import leash

ROOT = Path(__file__).resolve().parents[2]
UNUSED = ["redoc"]  # another reader of the schema, which comes with the one we have and is the larger half


def main(demo: bool) -> None:
    leash.put_on()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    switching.finish(Path(os.environ.get("DRAFTHOUSE_DATA") or ROOT / "data"))  # before settings read the secrets
    django.setup()
    from django.core.management import call_command

    from worker.supervisor import starter

    call_command("migrate", verbosity=0, interactive=False)
    collect_static()
    starter.load()
    if demo:
        starter.launch_demo()
    call_command("sign_in_link", stdout=sys.stdout)


def collect_static() -> None:
    """Only when a file has changed: hashing and compressing them takes seconds."""
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders
    from django.core.management import call_command

    def files() -> Iterator[str]:
        for finder in get_finders():
            for name, storage in finder.list(UNUSED):
                about = Path(storage.path(name)).stat()
                yield f"{name} {about.st_size} {about.st_mtime_ns}\n"

    fingerprint = hashlib.sha256("".join(sorted(files())).encode()).hexdigest()
    stamp = settings.STATIC_ROOT / ".collected"
    if not stamp.exists() or stamp.read_text() != fingerprint:
        call_command("collectstatic", verbosity=0, interactive=False, clear=True, ignore_patterns=UNUSED)
        stamp.write_text(fingerprint)


if __name__ == "__main__":
    main(demo="--demo" in sys.argv[1:])

"""`python -m worker.supervisor.prepare [--demo] [--link]`: bring database and static files up to date, load the starter
pair and prompts. A process of its own, so that the supervisor stays small.

With `--link` it prints the path of a one-time sign-in link. Without, only to a terminal on which nobody has signed in
yet: what a container prints is kept in a log, which more people read than may sign in as the owner.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import django

from webapp.backup import switching
from worker import leash
from worker.supervisor import data_folder

UNTIL_READY = 60.0  # s, for each part
# Maps of scripts, and pages of the REST framework that we do not show.
UNUSED = ["*.js.map", "rest_framework"]


def main(demo: bool, link: bool) -> None:
    leash.put_on()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    switching.finish(data_folder.default_folder())  # before settings read the secrets
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from webapp.accounts import services
    from webapp.core import fingerprints, modes, start
    from worker.supervisor import starter

    with start.refused():
        if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # before SQLite makes it, for everybody to read
            Path(settings.DATABASES["default"]["NAME"]).touch(mode=modes.FILE)
        wait_for_parts()
        call_command("migrate", verbosity=0, interactive=False)
        fingerprints.keep()
        collect_static()
        starter.load()
        if demo:
            starter.launch_demo()
        if link or _is_first_time():
            sys.stdout.write(f"{services.sign_in_path()}\n")


def _is_first_time() -> bool:
    from webapp.accounts.models import User

    return sys.stdout.isatty() and not User.objects.exclude(last_login=None).exists()


def wait_for_parts() -> None:
    """Wait until database and object store answer: they may be starting too."""
    from django.db import OperationalError

    from webapp.core import start
    from webapp.uploads import store
    from webapp.uploads.storing import StoreTrouble

    logger = logging.getLogger("drafthouse.prepare")
    start.until_it_answers(
        "the database", logger, start.look, (OperationalError,), within=UNTIL_READY, hint="Check DATABASE_URL."
    )
    start.until_it_answers(
        "the object store",
        logger,
        store.current().ask,
        (StoreTrouble,),
        within=UNTIL_READY,
        hint="Check the DRAFTHOUSE_S3_ settings and the key.",
    )


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
    main(demo="--demo" in sys.argv[1:], link="--link" in sys.argv[1:])

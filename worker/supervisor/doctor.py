"""`./drafthouse doctor`: try each part of an installation from this machine, and say what to do about broken ones."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import TYPE_CHECKING

from worker import gpus
from worker.supervisor import valkey
from worker.supervisor.data_folder import folder, set_up

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

    from webapp.config.readiness import NeededPart

PATIENCE = 30.0  # s, for all parts at the same time
CLOCKS_APART = 2.0  # s
WHAT_TO_DO = {
    "database": "Start it, or check DATABASE_URL or the POSTGRES_ settings.",
    "broker": "Start it, or check REDIS_URL and REDIS_PASSWORD. Until then workers look for jobs every 10 s.",
    "store": "Check the DRAFTHOUSE_S3_ settings and the key, or the folder of DRAFTHOUSE_STORE.",
}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse doctor",
        description="Try every part that this machine needs and say what to do. The exit code is 1 if one is broken.",
    )
    parser.add_argument("--data", type=Path, help="the data folder that `up` was given, if it was given one")
    parser.add_argument("--worker", action="store_true", help="leave out what only pages need: this machine has none")
    asked = parser.parse_args(argv)
    if (
        not (os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE"))
        and (folder(asked.data) / "valkey").exists()
    ):
        os.environ["REDIS_URL"] = valkey.broker(folder(asked.data)).url
    set_up(asked.data)
    from webapp.core.version import version

    sys.stdout.write(f"Drafthouse {version()}, data folder {folder(None)}\n")
    found = list(examined(for_pages=not asked.worker))
    for name, level, sentence in found:
        sys.stdout.write(f"{level:6}  {name:10}  {sentence}".rstrip() + "\n")
    return int(any(level == "broken" for _, level, _ in found))


def examined(*, for_pages: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each part, whether it is ok, broken or worth a note, and what is wrong with it."""
    parts = _parts(for_pages)
    asked = [part.ask() for part in parts]
    wait(asked, timeout=PATIENCE)
    for part, answer in zip(parts, asked, strict=True):
        told = answer.result() if answer.done() else f"The {part.name} does not answer within {PATIENCE:.0f} s."
        level = "ok" if not told else "broken" if part.is_vital else "note"
        yield part.name, level, f"{told} {WHAT_TO_DO.get(part.name, '')}".strip() if told else ""


def _parts(for_pages: bool) -> list[NeededPart]:
    from webapp.config import readiness
    from webapp.config.readiness import NeededPart, asked_apart
    from webapp.core import broker, edition, fingerprints

    both = [
        NeededPart("database", lambda: asked_apart(_answers)),
        NeededPart("migrations", lambda: asked_apart(lambda own: edition.mismatch(own) or readiness.not_migrated(own))),
        NeededPart("secrets", lambda: asked_apart(fingerprints.mismatch), is_vital=for_pages),
        NeededPart("clock", lambda: asked_apart(_clock)),
        NeededPart("broker", broker.trouble),
        NeededPart("store", _store),
        NeededPart("disk", readiness.disk),
        NeededPart("models", _models),
        NeededPart("workers", lambda: asked_apart(_workers)),
        NeededPart("gpu", lambda: asked_apart(_gpu), is_vital=False),
    ]
    pages = [NeededPart("static", readiness.static_files), NeededPart("proxies", _proxies, is_vital=False)]
    return [*both, *(pages if for_pages else ())]


def _answers(own: BaseDatabaseWrapper) -> str:
    from django.db import DatabaseError

    try:
        own.ensure_connection()
    except DatabaseError as error:  # the driver says why, with addresses: not for `/readyz`, which everybody may read
        return f"The database does not answer: {' '.join(str(error).split()).rstrip('?.')}."
    return ""


def _clock(own: BaseDatabaseWrapper) -> str:
    """Compare with the clock of PostgreSQL's machine. SQLite is on this one."""
    from django.utils import timezone

    if own.vendor == "sqlite":
        return ""
    with own.cursor() as cursor:
        before = timezone.now()
        cursor.execute("SELECT clock_timestamp()")
        (theirs,) = cursor.fetchone()
    apart = (before + (timezone.now() - before) / 2 - theirs).total_seconds()
    if abs(apart) < CLOCKS_APART:
        return ""
    return (
        f"This machine's clock is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} the database's. Turn time "
        "synchronisation on, on both machines: `timedatectl set-ntp true`."
    )


def _store() -> str:
    from webapp.uploads import store
    from webapp.uploads.storing import StoreTrouble

    try:
        store.current().try_out()
    except StoreTrouble as trouble:
        return f"{trouble.detail} {trouble.hint}"
    return ""


def _models() -> str:
    from django.conf import settings

    gone = [str(root) for root in settings.MODEL_ROOTS if not os.access(root, os.R_OK | os.X_OK)]
    lost = f"{' and '.join(gone)} of DRAFTHOUSE_MODEL_ROOTS cannot be read on this machine. Mount it, or leave it out."
    return lost if gone else ""


def _workers(_: BaseDatabaseWrapper) -> str:
    from webapp.jobs.models import Queue

    listening = _listening()
    if not listening - {Queue.LIGHT}:
        return (
            "No worker is alive that compares; jobs wait. Start `./drafthouse up`, or `python -m worker --queue cpu`."
        )
    if Queue.LIGHT not in listening:
        return "No worker takes light jobs, so uploads are not checked. Start `python -m worker --queue light`."
    return ""


def _listening() -> set[str]:
    from webapp.jobs.models import Worker

    return {queue for worker in Worker.objects.alive() for queue in worker.queues}


def _gpu(_: BaseDatabaseWrapper) -> str:
    from webapp.jobs.models import Queue

    there = len(gpus.listed())
    if there and not _torch_sees_them():
        return (
            f"nvidia-smi lists {there} GPUs, and PyTorch cannot use them. docs/gpu.md says how to install it for CUDA."
        )
    if there and Queue.GPU not in _listening():
        return f"There are {there} GPUs and no worker for them. Start one for each: `python -m worker --queue gpu`."
    return ""


def _torch_sees_them() -> bool:
    ask = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode == 0


def _proxies() -> str:
    from django.conf import settings

    is_local = {*settings.ALLOWED_HOSTS} <= {*settings.LOCAL_HOSTS}
    told = {
        "DRAFTHOUSE_HTTPS is true and DRAFTHOUSE_PROXIES is empty: all clients behind the proxy share the limits of "
        "one. Name the proxy's address.": settings.HTTPS and not settings.PROXIES,
        "Other machines may come without TLS: DRAFTHOUSE_HTTPS is false. docs/proxy.md says how a proxy adds it.":
            not settings.HTTPS and not is_local,
        "DRAFTHOUSE_DEBUG is on: errors show their insides. Unset it.": settings.DEBUG,
    }  # fmt: skip
    return " ".join(sentence for sentence, holds in told.items() if holds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Back up and restore a busy year: are all rows and chunks equal, and how long does it take?

    ./drafthouse bench backup [--comparisons 10000] [--chunks 20] [--postgres] [--data FOLDER] [--json FILE]

One process makes the backup, another restores it into a new data folder, with --postgres into another database of the
same server. Then each table is compared, by row count and by a hash of its rows as Django writes them. `--data` keeps
the filled folder for the next time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from benchmarks._serving import load, place, verdict

BAR_S = 120.0
CHUNK = 8 * 1024**2
LEFT_OUT = ("sessions.session", "jobs.worker")
MOVED = ("jobs.job", "jobs.jobevent")  # jobs that ran wait again, with a line that says so

T = TypeVar("T")


def measure(folder: Path, scratch: Path, comparison_count: int, chunk_count: int) -> dict[str, Any]:
    from django.db import connection

    from benchmarks._kept import filled
    from tests.webapp.backup.lab import Lab
    from webapp.jobs.models import Job

    things = filled(folder, comparison_count)
    _add_chunks(things["users"], chunk_count)
    running = Job.objects.filter(state="running").count()
    connection.close()
    database = os.environ.get("DATABASE_URL", "")
    lab, file = Lab(folder, database), scratch / "lab.tar"
    copy = Lab(scratch / "copy", _another(database))
    backup_s, _ = _timed(lambda: lab.do("backup", file))
    check_s, _ = _timed(lambda: lab.do("restore", file, "--check"))
    restore_s, _ = _timed(lambda: copy.do("restore", file))
    before, after = lab.contents(without=LEFT_OUT), copy.contents(without=LEFT_OUT)
    return {
        "database": connection.vendor,
        "machine": load(),
        "comparisons": comparison_count,
        "rows": sum(count for count, _ in before.values()),
        "file_mib": round(file.stat().st_size / 1024**2, 1),
        "chunk_mib": round(sum(map(len, lab.chunks().values())) / 1024**2, 1),
        "backup_s": backup_s,
        "check_s": check_s,
        "restore_s": restore_s,
        "differing_counts": _differing(before, after, 0, {"jobs.jobevent": running}),
        "differing_hashes": _differing(before, after, 1, dict.fromkeys(MOVED) if running else {}),
        "are_chunks_same": lab.chunks() == copy.chunks(),
    }


def _differing(before: dict[str, Any], after: dict[str, Any], of: int, allowed: dict[str, Any]) -> list[str]:
    """List tables that differ. `allowed` names the exceptions: counts that may differ by so many, and hashes."""

    def is_same(name: str) -> bool:
        if of == 0:
            return bool(after[name][0] - before[name][0] == (allowed.get(name) or 0))
        return name in allowed or before[name][1] == after[name][1]

    return [name for name in before if not is_same(name)]


def _add_chunks(user: Any, count: int) -> None:
    from tests.kit import make
    from webapp.accounts import actor
    from webapp.uploads.models import Upload

    if not Upload.objects.filter(name="large").exists():
        make.upload(actor.of_user(user), {"weights": os.urandom(count * CHUNK)}, name="large")


def _another(database: str) -> str:
    """Create an empty database beside this one. SQLite has one per data folder."""
    if not database:
        return ""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS copy")
        connection.execute("CREATE DATABASE copy")
    return database.replace("/postgres?", "/copy?")


def _timed(do: Callable[[], T]) -> tuple[float, T]:
    start = time.monotonic()
    found = do()
    return round(time.monotonic() - start, 1), found


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench backup", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=20, help="chunks of 8 MiB (%(default)s)")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own instead of SQLite")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="fill this folder, or reuse it if it is filled")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    scratch = Path(mkdtemp(prefix="dh-backup-"))
    try:
        with place(postgres=asked.postgres, kept=asked.data) as folder:
            outcome = measure(folder, scratch, asked.comparisons, asked.chunks)
    finally:
        shutil.rmtree(scratch)
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    is_same = not outcome["differing_counts"] and not outcome["differing_hashes"] and outcome["are_chunks_same"]
    print(f"{'ok  ' if is_same else 'MISS'} row counts and hashes of every table, and every chunk, are equal")
    is_quick = verdict("seconds to back up and restore", outcome["backup_s"] + outcome["restore_s"], BAR_S)
    return int(not (is_same and is_quick))


if __name__ == "__main__":
    sys.exit(main())

"""A lab is backed up, restored elsewhere, and is the same. A kill at any moment leaves nothing half done. Files that
are no backups, or no longer, or were made to do harm get a sentence each and leave nothing behind."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import random
import shlex
import signal
import subprocess
import sys
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from tests.kit import make
from tests.kit.stores import bucket, s3_server  # noqa: F401  fixtures
from tests.machines.backup.lab import COMMAND, ROOT, Lab, killed
from webapp.backup import archive, saving, switching
from webapp.backup.archive import Archive, BackupProblem, Writer
from webapp.core import edition
from webapp.uploads import services as uploads
from webapp.uploads.models import Chunk, Upload

pytestmark = pytest.mark.slow  # so it begins first: its labs are made once for all of it
REQUEUED = {"jobs.job", "jobs.jobevent"}  # what ran waits again
REQUEUED_LINES = 2  # in the log of each job that ran: a comparison and a training
WRITE = """
import django; django.setup()
from django.db import transaction
from webapp.accounts.models import AuditEntry, Team
while True:
    with transaction.atomic():
        team = Team.objects.create(name="busy")
        for verb in ("one", "two"):
            AuditEntry.objects.create(team=team, verb=verb, subject="busy")
    print("wrote", flush=True)
"""
WORK = """
from tests.kit import make
from webapp.accounts import actor
from webapp.accounts.models import User
from webapp.jobs.models import Job
assert Job.objects.filter(state="queued", reason__startswith="It ran when the backup of").count() == 2
Job.objects.filter(state="queued").update(state="cancelled", finished="2026-01-01T00:00Z")
make.decode_all(make.comparison(actor.of_user(User.objects.get(username="alice"))))
"""
TABLES = """
from django.db import connection
from webapp.backup import rows
models = rows.models_at(rows.applied()).values()
print(*set(connection.introspection.table_names()) - {model._meta.db_table for model in models})
"""


def kept(lab: Lab) -> dict[str, list[Any]]:
    """All that a lab holds but its count of backups: a backup counts itself when it is written."""
    return {name: held for name, held in lab.contents().items() if name != "core.tally"}


def same(one: Lab, other: Lab) -> None:
    before, after = kept(one), kept(other)
    assert {name: held[0] for name, held in before.items()} == {
        name: held[0] - (name == "jobs.jobevent") * REQUEUED_LINES for name, held in after.items()
    }
    assert {name for name in before if before[name] != after[name]} <= REQUEUED
    assert one.chunks() == other.chunks()
    assert one.secrets() == other.secrets()


def test_a_lab_restored_elsewhere_is_the_same_and_closed_to_others_and_can_be_worked_with(
    lab: Lab, second: Lab, postgres_copy: Lab, tmp_path: Path
) -> None:
    """From SQLite to PostgreSQL and back."""
    assert set(lab.python(TABLES).split()) == {"django_migrations", "django_session", "jobs_worker"}
    same(lab, second)

    second.do("backup", tmp_path / "second.tar")
    assert (tmp_path / "second.tar").stat().st_mode & 0o777 == 0o600
    third = Lab(tmp_path / "third")
    third.folder.mkdir(mode=0o755)
    assert "all hashes are equal" in third.do("restore", tmp_path / "second.tar")
    assert kept(third) == kept(second)
    assert third.chunks() == second.chunks()
    assert lab.count("sessions.session") > 0 and third.count("sessions.session") == third.count("jobs.worker") == 0
    assert third.folder.stat().st_mode & 0o777 == 0o700
    chunks = [path for path in (third.folder / "chunks").rglob("*") if path.is_file()]
    assert chunks and all(path.stat().st_mode & 0o077 == 0 for path in chunks)
    postgres_copy.python(WORK)  # counters of rows go on where they were


@pytest.mark.parametrize("plant", ["symlink", "hardlink", "pipe", "another owner"])
def test_a_backup_writes_into_no_file_that_somebody_put_in_its_place(tmp_path: Path, plant: str) -> None:
    part, other = tmp_path / "lab.tar.part", tmp_path / "other"
    other.write_text("mine")
    if plant == "symlink":
        part.symlink_to(other)
    elif plant == "hardlink":
        part.hardlink_to(other)
    elif plant == "pipe":
        os.mkfifo(part)
    elif os.geteuid() == 0:
        part.touch()
        os.chown(part, 12345, -1)
    else:
        pytest.skip("only root gives files away")
    with pytest.raises(BackupProblem, match="part"):
        saving.save(str(tmp_path / "lab.tar"), with_bucket=False, tell=print)
    assert other.read_text() == "mine" and not (tmp_path / "lab.tar").exists()


def test_a_backup_is_whole_while_somebody_writes(copy: Lab, tmp_path: Path) -> None:
    """Every transaction of the writer makes a team and two lines about it."""
    command = [sys.executable, "-c", WRITE]
    with subprocess.Popen(command, env=copy.env, stdout=subprocess.PIPE, text=True, cwd=ROOT) as writer:
        for number in range(2):
            assert writer.stdout.readline()
            copy.do("backup", tmp_path / f"{number}.tar")
        writer.kill()
    seen = []
    for number in range(2):
        with (tmp_path / f"{number}.tar").open("rb") as file:
            archive = Archive(file)
            teams, told = (
                sum(b'"busy"' in row for row in archive.lines(table))
                for table in ("accounts.team", "accounts.auditentry")
            )
        assert told == 2 * teams
        seen.append(teams)
    assert 0 < seen[0] < seen[1]


def test_a_lab_in_use_is_not_replaced_unless_asked_and_then_kept_beside(lab: Lab, backup: Path, copy: Lab) -> None:
    """Nor is it by a restore that is killed."""
    copy.python("from webapp.accounts.models import Team; Team.objects.create(name='since then')")
    before, secrets = copy.contents(), copy.secrets()
    code, said = copy.run("restore", backup)
    assert code == 1 and "Add --replace" in said
    killed(copy.start("restore", backup, "--replace"), switching.staged(copy.folder / "secrets").exists)
    assert (copy.contents(), copy.secrets()) == (before, secrets)

    said = copy.do("restore", backup, "--replace")
    assert copy.count("accounts.team") == lab.count("accounts.team")
    places = [line.rpartition(": ")[2] for line in said.splitlines() if line.startswith("What was there before")]
    if copy.database:
        (schema,) = [place.split()[2] for place in places if place.startswith("the schema")]
        with psycopg.connect(copy.database) as connection:
            (count,) = connection.execute(f"SELECT count(*) FROM {schema}.accounts_team").fetchone()
    else:
        (file,) = [place for place in places if "sqlite3" in place]
        count = Lab(copy.folder, f"sqlite:///{file}").count("accounts.team")
    assert count == before["accounts.team"][0]
    assert any("secrets.before" in place for place in places)  # without them the old one's tokens are worth nothing
    assert not list(copy.folder.glob("*.restoring*"))


def test_a_database_that_cannot_be_read_is_replaced_and_kept_and_a_chunk_that_is_missing_stops_nothing(
    sqlite_copy: Lab, tmp_path: Path
) -> None:
    lost = next(path for path in (sqlite_copy.folder / "chunks").glob("*/*/*") if path.is_file())
    lost.unlink()
    file, again = tmp_path / "poor.tar", Lab(tmp_path / "again")
    assert "1 chunks were missing in the store" in sqlite_copy.do("backup", file)
    again.folder.mkdir()
    (again.folder / "drafthouse.sqlite3").write_bytes(b"no database " * 1000)
    code, said = again.run("restore", file)
    assert code == 1 and "cannot be read" in said and "--replace" in said
    assert "1 chunks were missing already" in again.do("restore", file, "--replace")
    assert kept(again) == kept(sqlite_copy)
    (old,) = again.folder.glob("drafthouse.sqlite3.before-*")
    assert old.read_bytes().startswith(b"no database")


def test_a_broken_database_is_not_backed_up_in_silence(sqlite_copy: Lab, tmp_path: Path) -> None:
    with (sqlite_copy.folder / "drafthouse.sqlite3").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 60))
    code, said = sqlite_copy.run("backup", tmp_path / "broken.tar")
    assert code == 1 and said.startswith("The database cannot be read: "), said
    assert not list(tmp_path.glob("broken*"))


def test_nothing_is_restored_under_a_running_drafthouse_or_workers(
    backup: Path, tmp_path: Path, postgres_copy: Lab
) -> None:
    alone = Lab(tmp_path / "alone")
    alone.folder.mkdir()
    with (alone.folder / "drafthouse.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, said = alone.run("restore", backup)
    assert code == 1 and "A Drafthouse runs in" in said and not (alone.folder / "drafthouse.sqlite3").exists()
    postgres_copy.python(
        "from webapp.jobs import services as jobs\njobs.register_worker(name='w1', queues=[], devices=[], versions={})"
    )
    code, said = postgres_copy.run("restore", backup, "--replace")
    assert code == 1 and "w1" in said


RECORD = """
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
MigrationRecorder(connection).{}
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("record_applied('jobs', '0999_later')", "is of a newer Drafthouse: this one does not know jobs.0999_later"),
        ("record_unapplied('jobs', '0020_time_limit')", f"Check out commit {edition.LAST_THAT_MIGRATES}"),
    ],
)
def test_a_backup_of_a_version_that_is_too_new_or_too_old_is_refused(
    sqlite_copy: Lab, tmp_path: Path, change: str, told: str
) -> None:
    sqlite_copy.python(RECORD.format(change))
    code, said = sqlite_copy.run("backup", tmp_path / "other.tar")
    assert code == 1 and told in said.replace("\n", " ")


def test_a_full_disk_is_told_and_leaves_nothing(lab: Lab, backup: Path, tmp_path: Path) -> None:
    """A bound on the length of files stands for the disk."""
    for command, file in (("backup", tmp_path / "large.tar"), ("restore", backup)):
        there = lab if command == "backup" else Lab(tmp_path / "new")
        words = f"ulimit -f 40; exec {shlex.join(COMMAND)} {command} {file} --data {there.folder}"
        done = subprocess.run(["bash", "-c", words], env=there.env, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        assert "The file system refuses: File too large" in done.stderr or "The database refuses" in done.stderr
    assert not list(tmp_path.iterdir())


def test_chunks_stay_in_their_bucket_unless_asked_for(lab, backup, tmp_path, settings, bucket) -> None:  # noqa: F811
    more = {"DRAFTHOUSE_S3_BUCKET": bucket.name, "DRAFTHOUSE_S3_ENDPOINT": settings.S3_ENDPOINT}
    there = Lab(tmp_path / "there", more=more)
    there.do("restore", backup)
    assert not there.chunks()
    assert f"not in the backup: they are in s3 {bucket.name}" in there.do("backup", tmp_path / "rows.tar")
    there.do("backup", tmp_path / "all.tar", "--with-bucket")
    with (tmp_path / "all.tar").open("rb") as file:
        held = Archive(file)
        names = [name for name in held.members if name.startswith("chunks/")]
        found = {name.rpartition("/")[2]: held.chunk(*name.split("/")[1:]).read() for name in names}
    assert found == {name.rpartition("/")[2]: content for name, content in lab.chunks().items()}

    there.more["DRAFTHOUSE_S3_ENDPOINT"] = "http://127.0.0.1:1"
    code, said = there.run("backup", tmp_path / "away.tar", "--with-bucket")
    assert code == 1 and "cannot be read from the bucket" in said and not (tmp_path / "away.tar").exists()


class Interrupted(io.BytesIO):
    """A file in whose first chunk somebody throws the upload away and the hourly sweep comes by."""

    def write(self, content: Any) -> int:
        if Upload.objects.filter(name="fleeting").exists() and self.tell() >= 2048:  # the head and a chunk
            Upload.objects.filter(name="fleeting").delete()
            uploads.sweep()
        return super().write(content)


@pytest.mark.django_db(transaction=True)
def test_a_sweep_in_the_middle_leaves_a_backup_that_names_only_what_it_has(world: Any) -> None:
    by = world.actor(world.alice)
    make.upload(by, {"a": b"stays"})
    make.upload(by, {"b": b"goes"}, name="fleeting")
    Chunk.objects.update(created=timezone.now() - timedelta(days=2))
    out = Interrupted()
    manifest = saving.write(out, with_bucket=False, tell=print)
    assert len(manifest.chunks) == manifest.tables["uploads.chunk"]["rows"] == 1
    assert not manifest.missing
    Archive(out).verify()


def test_a_killed_backup_leaves_the_one_before(sqlite_copy: Lab, tmp_path: Path) -> None:
    large = sqlite_copy
    large.python(
        "import os\nfrom webapp.accounts.models import Team\nfrom webapp.uploads import services\n"
        "from webapp.accounts import actor\nfrom webapp.accounts.models import User\n"
        "by = actor.of_user(User.objects.get(username='alice'))\n"
        "services.keep(team=by.home, name='large', files=[('x', os.urandom(60_000_000))], by=by)"
    )
    file, part = tmp_path / "lab.tar", tmp_path / "lab.tar.part"
    large.do("backup", file)
    before = file.read_bytes()
    killed(large.start("backup", file), lambda: part.exists() and part.stat().st_size > 1_000_000)
    assert file.read_bytes() == before
    large.do("backup", file)
    assert not part.exists()
    assert "The file is whole." in large.do("restore", file, "--check")


def _places(folder: Path) -> tuple[Path, Path]:
    """Make a folder with an old database and old secrets, and new ones staged."""
    database, secrets = folder / "db", folder / "secrets"
    for ending in ("", "-wal"):
        (folder / f"db{ending}").write_text("old")
    switching.staged(database).write_text("new")
    for path, content in ((secrets, "old"), (switching.staged(secrets), "new")):
        path.mkdir()
        (path / "key").write_text(content)
    return database, secrets


SWITCH = """
import os, signal, sys
from pathlib import Path
from webapp.backup import switching
folder, left = Path(sys.argv[1]), int(sys.argv[2])

def look(event, arguments):
    global left
    if event in ("os.rename", "os.remove", "os.rmdir") and str(arguments[0]).startswith(str(folder)):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(look)
switching.switch(folder, [folder / "db", folder / "secrets"], "then", keeps_old=True)
"""


def _switch_but_die(folder: Path, at: int) -> int:
    """Switch in a process that is killed right before its n-th rename or deletion; return its exit code."""
    return subprocess.run([sys.executable, "-c", SWITCH, folder, str(at)], cwd=ROOT, check=False).returncode


STEPS = 10  # the journal comes and goes; for both a new one, and an old one that might have two companions


@pytest.mark.parametrize("at", range(1, STEPS + 2))
def test_an_exchange_that_is_killed_is_finished_by_whoever_starts_next(tmp_path: Path, at: int) -> None:
    database, secrets = _places(tmp_path)
    assert _switch_but_die(tmp_path, at) == (-signal.SIGKILL if at <= STEPS else 0)
    switching.finish(tmp_path)
    wanted = "old" if at == 1 else "new"
    assert (database.read_text(), (secrets / "key").read_text()) == (wanted, wanted)
    assert (tmp_path / "db-wal").exists() == (at == 1)
    if at > 1:
        assert (tmp_path / "db.before-then").read_text() == (tmp_path / "db.before-then-wal").read_text() == "old"
        assert (tmp_path / "secrets.before-then" / "key").read_text() == "old"
    assert not (tmp_path / switching.JOURNAL).exists()


def test_a_start_finishes_an_exchange_that_was_killed_and_makes_no_lab_in_use(backup: Path, tmp_path: Path) -> None:
    _places(tmp_path)
    _switch_but_die(tmp_path, 3)
    assert (tmp_path / switching.JOURNAL).exists()
    started = Lab(tmp_path, f"sqlite:///{tmp_path}/another")
    command = [sys.executable, "-P", "-m", "worker.supervisor.prepare"]
    subprocess.run(command, env=started.env, capture_output=True, check=True)
    assert started.secrets()["key"] == "new"
    assert not (tmp_path / switching.JOURNAL).exists()
    started.do("restore", backup)


def refusal(content: bytes) -> str:
    with pytest.raises(BackupProblem) as caught:
        Archive(io.BytesIO(content)).verify()
    return str(caught.value)


def written(*members: tuple[str, bytes], **about: Any) -> bytes:
    """A file with all the right hashes."""
    out = io.BytesIO()
    writer = Writer(out, version="1", made=datetime.now(UTC))
    usual = {f"secrets/{name}": b"x" for name in archive.SECRETS}
    for name, content in (usual | dict(members)).items():
        writer.add(name, content)
    whole = {"engine": "sqlite", "migrations": [], "tables": {}, "chunks": [], "where": {}, "has_chunks": True}
    writer.close(whole | {"missing": []} | about)
    return out.getvalue()


def as_tar(*members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as made:
        for member in (tarfile.TarInfo(archive.HEAD), *members):
            made.addfile(member)
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def test_what_is_no_backup_is_told_so() -> None:
    for content in (b"", bytes(10240), b"SQLite format 3\0" * 100):
        assert "not a backup of Drafthouse" in refusal(content)


def test_a_backup_is_refused_wherever_it_ends_and_whichever_byte_was_changed(backup: Path) -> None:
    whole, dice = bytearray(backup.read_bytes()), random.Random(1)
    for length in {0, 1, 511, 512, 513, len(whole) - 1, len(whole) - 512, len(whole) - 1024}:
        refusal(bytes(whole[:length]))
    for _ in range(20):
        refusal(bytes(whole[: dice.randrange(len(whole))]))
    refusal(whole + b"\0")
    for at in {*range(0, 1024, 13), *(dice.randrange(len(whole)) for _ in range(100))}:
        flipped = 1 << dice.randrange(8)
        whole[at] ^= flipped
        refusal(bytes(whole))
        whole[at] ^= flipped
    assert Archive(io.BytesIO(bytes(whole))).verify()


@pytest.mark.parametrize(
    "wrong",
    [
        member("../../etc/passwd"),
        member("secrets/metrics"),
        member("secrets/secret_key", tarfile.SYMTYPE, "/etc/passwd"),
        member("secrets/secret_key", tarfile.LNKTYPE, "/etc/passwd"),
        member("tables/jobs.job/000000.gz\n"),
    ],
    ids=lambda member: f"{member.name!a} {member.type!r}",
)
def test_links_and_paths_that_lead_elsewhere_are_refused(wrong: tarfile.TarInfo) -> None:
    said = refusal(as_tar(wrong))
    assert "Drafthouse never writes" in said or "damaged" in said


def test_sizes_below_nothing_members_twice_and_other_formats_are_refused(monkeypatch: pytest.MonkeyPatch):
    head = bytearray(member(archive.HEAD).tobuf(tarfile.USTAR_FORMAT))
    head[124:136] = b"\xff" * 12  # -1 as GNU spells it
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 8 * 32 + sum(head[156:]))
    refusal(bytes(head) + bytes(10240))
    assert "twice" in refusal(as_tar(member("secrets/secret_key"), member("secrets/secret_key")))
    monkeypatch.setattr(archive, "FORMAT", 2)
    later = written()
    monkeypatch.setattr(archive, "FORMAT", 1)
    assert "format 2, made by Drafthouse 1" in refusal(later)


def test_a_table_that_unpacks_without_end_is_refused() -> None:
    bomb = gzip.compress(bytes(archive.MOST_UNPACKED + 1), 9)
    made = Archive(io.BytesIO(written(("tables/jobs.job/000000.gz", bomb))))
    made.verify()
    with pytest.raises(BackupProblem, match="unpacks to more than"):
        list(made.lines("jobs.job"))


NO_CHUNK = {"chunks": [["00000000-0000-0000-0000-000000000000", "0" * 64, 5]]}


def test_a_manifest_of_another_shape_or_that_promises_more_than_there_is_is_refused() -> None:
    assert "damaged" in refusal(written().replace(b'"members": {', b'"members_": {'))
    with pytest.raises(BackupProblem, match="manifest"):  # by the writer already, which reads its own manifest
        written(tables={"jobs.job": 3})
    assert "chunk" in refusal(written(**NO_CHUNK))
    assert "secret_key" in refusal(written(("secrets/secret_key", b"\xff\xfe")))


def test_a_refused_file_leaves_nothing_behind_and_a_check_touches_nothing(backup: Path, tmp_path: Path) -> None:
    for content in (backup.read_bytes()[:5000], written(migrations=[["jobs", "0999_later"]])):
        (tmp_path / "bad.tar").write_bytes(content)
        code, said = Lab(tmp_path / "new").run("restore", tmp_path / "bad.tar")
        assert code == 1 and "Traceback" not in said, said
    said = Lab(tmp_path / "new").do("restore", backup, "--check")
    assert "The file is whole." in said and "comparisons.sample" in said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar"]

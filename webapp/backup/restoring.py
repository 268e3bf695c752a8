"""Restore a backup: check it, stage it beside the current data, then exchange both in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.management.color import no_style
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model
from django.db.transaction import atomic
from django.utils import timezone

from webapp.backup import rows, switching, targets
from webapp.backup.archive import SECRETS, Archive, BackupManifest, BackupProblem
from webapp.core import modes
from webapp.jobs.models import Job, JobEvent, JobState
from webapp.uploads import store
from webapp.uploads.storing import StoreTrouble

AT_ONCE = 200  # rows

Tell = Callable[[str], None]


@dataclass
class Restored:
    row_count: int
    chunk_count: int = 0
    requeued: int = 0
    aside: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def restore(archive: Archive, manifest: BackupManifest, *, replace: bool, tell: Tell) -> Restored:
    """Restore the archive. `manifest` is what `archive.verify()` returned."""
    data = Path(settings.DATA_DIR)
    rows.require_known(manifest.migrations, "This backup")
    with switching.alone(data):
        modes.tighten(data, modes.FOLDER)  # before anything of the backup is in it
        switching.finish(data)
        there = targets.what_is_there()
        if there and not replace:
            raise BackupProblem(
                f"{there} Add --replace to put the backup in its place and keep it beside, or restore into another "
                "folder with --data."
            )
        _require_room(manifest)
        restored = Restored(manifest.row_count)
        stamp = f"{timezone.now():%Y%m%d-%H%M%S}"
        target = targets.current(stamp)
        files = [data / "secrets", *target.files]
        with _chunks(archive, manifest, restored, tell), _staged(files), target.making():
            _stage_secrets(archive, data / "secrets")
            tell(f"{manifest.row_count} rows")
            _load(archive, manifest)
            restored.requeued = _put_back(manifest)
        kept = switching.switch(data, files, stamp, keeps_old=target.is_used)
    restored.aside = [*filter(None, [target.aside]), *map(str, kept)]
    restored.warnings += _warnings(archive, manifest)
    return restored


@contextmanager
def _staged(files: list[Path]) -> Iterator[None]:
    """Clear what a killed restore staged before; clear what this one stages if it fails."""
    switching.clear(files)
    try:
        yield
    except BaseException as error:
        switching.clear(files)
        if isinstance(error, DatabaseError):
            raise BackupProblem(f"The database refuses the backup: {error}".strip()) from None
        raise


# Rows ----------------------------------------------------------------------------------------------------------------


def _load(archive: Archive, manifest: BackupManifest) -> None:
    """Make the tables as they were at the time of the backup, fill and compare them, then migrate them to today."""
    executor = MigrationExecutor(connection)
    executor.loader = rows.require_known(manifest.migrations, "This backup")
    executor.migrate(rows.latest(manifest.migrations, executor.loader))
    models = rows.models_at(manifest.migrations)
    if set(models) != set(manifest.tables):
        raise BackupProblem("The backup holds other tables than its migrations make. Use another backup.")
    with atomic():
        for model in models.values():
            model._base_manager.all().delete()  # rows that migrations inserted
        connection.check_constraints()  # PostgreSQL then defers those that a migration made immediate
        for label, model in models.items():
            _fill(archive, model, label)
        connection.check_constraints()
        _compare(models, manifest)
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), list(models.values())):
                cursor.execute(statement)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # All migrations share a transaction: a table whose rows one has changed must not wait for checks when the
            # next gives it a column.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def _fill(archive: Archive, model: type[Model], label: str) -> None:
    batch = []
    for line in archive.lines(label):
        batch.append(rows.read(model, line))
        if len(batch) == AT_ONCE:
            model._base_manager.bulk_create(batch)
            batch = []
    model._base_manager.bulk_create(batch)


def _compare(models: Mapping[str, type[Model]], manifest: BackupManifest) -> None:
    for label, model in models.items():
        content = rows.Content()
        for _ in rows.lines(model, content):
            pass
        found, wanted = content.to_dict(), manifest.tables[label]
        if (found["rows"], found["sha256"]) != (wanted["rows"], wanted["sha256"]):
            raise BackupProblem(
                f"{label} would have {found['rows']} rows that differ from the backup's {wanted['rows']}. Nothing was "
                "changed; please report this with what `restore --check` prints."
            )


def _put_back(manifest: BackupManifest) -> int:
    """Queue again the jobs that were running, at no cost of an attempt: no worker holds them any more. Return how
    many."""
    running = list(Job.objects.filter(state=JobState.RUNNING))
    for job in running:
        job.lease_until, job.worker = None, ""
        if job.is_cancel_asked:
            job.state, job.finished = JobState.CANCELLED, timezone.now()
        else:
            job.state, job.not_before = JobState.QUEUED, None
        job.reason = (
            f"It ran when the backup of {manifest.made:%Y-%m-%d %H:%M} UTC was made; what was finished is kept."
        )
        job.save()
        last = JobEvent.objects.filter(job=job).order_by("-seq").values_list("seq", flat=True).first()
        JobEvent.objects.create(job=job, seq=(last or 0) + 1, state=job.state, sentence=job.reason)
    return len(running)


# Files ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _chunks(archive: Archive, manifest: BackupManifest, restored: Restored, tell: Tell) -> Iterator[None]:
    """Copy chunks beside the existing ones; names made from their content cannot collide. Delete the new ones if the
    restore fails."""
    came: list[tuple[UUID, str]] = []
    try:
        for team, sha256, size in manifest.chunks if manifest.has_chunks else ():
            if sha256 not in manifest.missing:
                _put(archive, UUID(team), sha256, size, came)
                restored.chunk_count += 1
                if restored.chunk_count % 1000 == 0:
                    tell(f"{restored.chunk_count} of {len(manifest.chunks)} chunks")
        yield
    except BaseException:
        for team_id, sha256 in came:
            with suppress(StoreTrouble, OSError):
                store.current().delete(team_id, sha256)
        raise


def _put(archive: Archive, team_id: UUID, sha256: str, size: int, came: list[tuple[UUID, str]]) -> None:
    if not _has(team_id, sha256):
        came.append((team_id, sha256))
    try:
        store.current().put(team_id, sha256, size, archive.chunk(str(team_id), sha256))
    except StoreTrouble as trouble:
        raise BackupProblem(f"{trouble.detail} Nothing was changed.") from None


def _has(team_id: UUID, sha256: str) -> bool:
    try:
        return bool(store.current().read(team_id, sha256, 0, 1))
    except (OSError, StoreTrouble):
        return False


def _stage_secrets(archive: Archive, secrets: Path) -> None:
    """Stage the backup's secrets. Other secrets in the folder, of a newer version or an operator's own, stay."""
    folder = switching.staged(secrets)
    if secrets.exists():
        shutil.copytree(secrets, folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in SECRETS:
        with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(archive.secret(name))


def _require_room(manifest: BackupManifest) -> None:
    wanted = 3 * manifest.table_bytes + (manifest.chunk_bytes if manifest.has_chunks and not settings.S3_BUCKET else 0)
    free = shutil.disk_usage(settings.DATA_DIR).free
    if wanted > free:
        raise BackupProblem(
            f"The backup needs about {wanted // 1024**2} MiB, and the disk of {settings.DATA_DIR} has "
            f"{free // 1024**2} MiB free. Make room, or restore elsewhere with --data."
        )


def _warnings(archive: Archive, manifest: BackupManifest) -> Iterator[str]:
    for name in SECRETS:
        variable = f"DRAFTHOUSE_{name.upper()}"
        if os.environ.get(variable, archive.secret(name)) != archive.secret(name):
            yield (
                f"{variable} is set to another value than the backup's, so tokens, links and sessions of the backup do "
                "not work. Unset it; the backup's value lies in the data folder now."
            )
    if not manifest.has_chunks:
        where = " ".join(manifest.where.values())
        yield f"{len(manifest.chunks)} chunks are not in the backup: they are in {where}. Configure that bucket here."
    if manifest.missing:
        count = len(manifest.missing)
        yield f"{count} chunks were missing already when the backup was made; models that need them cannot be used."

"""Taking files in: a manifest, the chunks that are missing, and the word that it is all there."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import ProtectedError, Sum
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.models import Team
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid, NotFound, TooLarge
from webapp.uploads import archives, paths, store
from webapp.uploads.models import Chunk, Upload, UploadedFile
from webapp.uploads.reading import FileReader

MOST_FILES = 2000
MOST_CHUNKS = 100_000
MOST_OPEN = 100
KEPT_UNUSED = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a manifest."""

    path: str
    size: int
    chunks: tuple[str, ...]


@transaction.atomic
def begin(*, name: str, files: list[Listed], by: Actor) -> Upload:
    by.require(Right.SUBMIT)
    if by.home.uploads.filter(state=Upload.State.OPEN).count() >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} uploads are open.", hint="Finish or delete some first.")
    sizes = _sizes(files)
    _check_quota(by.home, sum(size for sha, size in sizes.items() if sha not in _present(by.home, sizes)))
    upload = Upload.objects.create(team=by.home, created_by=by.user, name=name)
    UploadedFile.objects.bulk_create(
        UploadedFile(upload=upload, path=file.path, size=file.size, chunks=list(file.chunks)) for file in files
    )
    audit.record(by, "began", upload, file_count=len(files))
    return upload


def missing(upload: Upload) -> list[str]:
    """What is still to be sent, each chunk once, in the order of the files."""
    wanted = dict.fromkeys(sha for file in upload.files.all() for sha in file.chunks)
    present = _present(upload.team, wanted)
    return [sha for sha in wanted if sha not in present]


def receive(*, upload: Upload, sha256: str, stream: IO[bytes], by: Actor) -> None:
    """Take one chunk. One that is here already is not written again."""
    by.require(Right.SUBMIT)
    if upload.state != Upload.State.OPEN:
        raise Conflict("This upload is complete; it takes no more chunks.", code="upload-is-complete")
    sizes = _sizes(Listed(file.path, file.size, tuple(file.chunks)) for file in upload.files.all())
    if sha256 not in sizes:
        raise NotFound(f"No file of this upload has a chunk {sha256}.", code="chunk-not-listed")
    if sha256 in _present(upload.team, [sha256]):
        return
    _check_quota(upload.team, sizes[sha256])
    store.put(upload.team_id, sha256, sizes[sha256], stream)
    Chunk.objects.bulk_create(
        [Chunk(team=upload.team, sha256=sha256, size=sizes[sha256])], ignore_conflicts=True
    )  # two may send the same chunk at once


def complete(*, upload: Upload, by: Actor) -> Upload:
    """Everything is there. A single archive is unpacked; its files take its place."""
    by.require(Right.SUBMIT)
    if upload.state == Upload.State.COMPLETE:
        return upload
    if lacking := missing(upload):
        raise Conflict(
            f"{len(lacking)} chunks are missing.",
            code="chunks-missing",
            hint="Send what `missing` of the upload lists, then complete it again.",
        )
    files = list(upload.files.all())
    unpacked = _unpack(upload, files[0]) if len(files) == 1 and archives.is_archive(files[0].path) else []
    with transaction.atomic():
        if unpacked:
            upload.files.all().delete()
            UploadedFile.objects.bulk_create(unpacked)
        if not Upload.objects.filter(pk=upload.pk, state=Upload.State.OPEN).update(state=Upload.State.COMPLETE):
            raise Conflict("This upload was completed just now by someone else.")
        audit.record(by, "completed", upload, file_count=len(unpacked) or len(files))
    upload.refresh_from_db()
    return upload


@transaction.atomic
def discard(*, upload: Upload, by: Actor) -> None:
    by.require(Right.SUBMIT)
    audit.record(by, "discarded", upload)
    try:
        upload.delete()
    except ProtectedError:
        raise Conflict("A model or a prompt set was made of this upload.", code="in-use") from None


def keep(*, team: Team, name: str, files: Iterable[tuple[str, bytes]], by: Actor) -> Upload:
    """Files that are here in memory already, such as pasted prompts, as a complete upload."""
    made = [_store_stream(team, path, io.BytesIO(content)) for path, content in files]
    with transaction.atomic():
        upload = Upload.objects.create(team=team, created_by=by.user, name=name, state=Upload.State.COMPLETE)
        for file in made:
            file.upload = upload
        UploadedFile.objects.bulk_create(made)
    return upload


def sweep() -> tuple[int, int]:
    """Delete uploads that nobody finished or used in a week, then chunks that no upload has. How many of each."""
    upload_count = 0
    for upload in Upload.objects.filter(created__lt=timezone.now() - KEPT_UNUSED):
        try:
            with transaction.atomic():
                upload.delete()
            upload_count += 1
        except ProtectedError:
            continue  # something was made of it
    return upload_count, sum(_sweep_chunks(team) for team in Team.objects.filter(chunks__isnull=False).distinct())


def _sweep_chunks(team: Team) -> int:
    with transaction.atomic():
        used = {sha for chunks in UploadedFile.objects.filter(upload__team=team).values_list("chunks", flat=True)
                for sha in chunks}  # fmt: skip
        old = Chunk.objects.filter(team=team, created__lt=timezone.now() - timedelta(hours=1))
        unused = [sha for sha in old.values_list("sha256", flat=True) if sha not in used]
        for start in range(0, len(unused), 500):
            Chunk.objects.filter(team=team, sha256__in=unused[start : start + 500]).delete()
    for sha in unused:
        store.delete(team.pk, sha)
    return len(unused)


def used_bytes(team: Team) -> int:
    return Chunk.objects.filter(team=team).aggregate(total=Sum("size"))["total"] or 0


def _check_quota(team: Team, more: int) -> None:
    used, allowed = used_bytes(team), settings.TEAM_QUOTA_BYTES
    if used + more > allowed:
        raise TooLarge(
            f"{more} bytes more would exceed the {allowed} bytes your team may keep; it keeps {used} now.",
            code="quota-exceeded",
            hint="Delete models or prompts you no longer need, or ask the operator for more.",
        )


def _sizes(files: Iterable[Listed]) -> dict[str, int]:
    """How long each chunk must be: all have the standard length, but for the last of each file."""
    sizes: dict[str, int] = {}
    for file in files:
        for index, sha in enumerate(file.chunks):
            size = min(settings.CHUNK_BYTES, file.size - index * settings.CHUNK_BYTES)
            if sizes.setdefault(sha, size) != size:
                raise Invalid(f"The chunk {sha} is listed with two lengths, {sizes[sha]} and {size}.", field="files")
    return sizes


def _present(team: Team, shas: Iterable[str]) -> set[str]:
    wanted = list(shas)
    found: set[str] = set()
    for start in range(0, len(wanted), 500):  # databases bound how many values one question may hold
        part = Chunk.objects.filter(team=team, sha256__in=wanted[start : start + 500])
        found.update(part.values_list("sha256", flat=True))
    return found


def _unpack(upload: Upload, archive: UploadedFile) -> list[UploadedFile]:
    """Stream every member into chunks. No transaction is open meanwhile: it may take a while."""
    unpacked = []
    for path, stream in archives.members(FileReader(archive, upload.team_id), archive.path):
        file = _store_stream(upload.team, path, stream)
        file.upload = upload
        unpacked.append(file)
    return unpacked


def _store_stream(team: Team, path: str, stream: Any) -> UploadedFile:
    shas, size = [], 0
    while content := _read_fully(stream, settings.CHUNK_BYTES):
        sha = hashlib.sha256(content).hexdigest()
        if sha not in _present(team, [sha]):
            _check_quota(team, len(content))
            store.put(team.pk, sha, len(content), io.BytesIO(content))
            Chunk.objects.bulk_create([Chunk(team=team, sha256=sha, size=len(content))], ignore_conflicts=True)
        shas.append(sha)
        size += len(content)
    return UploadedFile(path=paths.clean(path), size=size, chunks=shas)


def _read_fully(stream: Any, wanted: int) -> bytes:
    pieces, count = [], 0
    while count < wanted and (piece := stream.read(min(store.PIECE, wanted - count))):
        pieces.append(piece)
        count += len(piece)
    return b"".join(pieces)

"""Take files in: a manifest, the missing chunks, and the completion."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from io import BytesIO
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import PROTECT, ProtectedError
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.models import Team
from webapp.accounts.rights import Right
from webapp.core import tallies
from webapp.core.problems import Conflict, Invalid, NotFound
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.uploads import archives, chunks, store
from webapp.uploads.kinds import UNPACK
from webapp.uploads.models import Upload, UploadedFile

MOST_FILES = 2000
MOST_CHUNKS = 100_000
MOST_OPEN = 100
KEPT_UNUSED = timedelta(days=7)


@transaction.atomic
def begin(*, name: str, files: list[UploadedFile], by: Actor) -> Upload:
    by.require(Right.SUBMIT)
    if by.home.uploads.filter(state=Upload.State.OPEN).count() >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} uploads are open.", hint="Finish or delete some first.")
    sizes = _sizes(files)
    present = chunks.present(by.home, sizes)
    chunks.check_quota(by.home, sum(size for sha, size in sizes.items() if sha not in present))
    upload = Upload.objects.create(team=by.home, created_by=by.user, name=name)
    _give(files, upload)
    audit.record(by, "began", upload, file_count=len(files))
    return upload


def missing(upload: Upload) -> list[str]:
    """List the chunks that are still to be sent, each once, in the order of the files."""
    wanted = dict.fromkeys(sha for file in upload.files.all() for sha in file.chunks)
    present = chunks.present(upload.team, wanted)
    return [sha for sha in wanted if sha not in present]


def receive(*, upload: Upload, sha256: str, stream: IO[bytes], by: Actor) -> None:
    """Store one chunk. One that is here already is not written again."""
    if (size := _still_due(upload, sha256, by)) is None:
        return
    store.current().put(upload.team_id, sha256, size, stream)
    chunks.note(upload.team, sha256, size)


def offer(*, upload: Upload, sha256: str, by: Actor) -> tuple[bool, str]:
    """Return whether the chunk is here, and if not, the address to send it to without us; empty if it must come through
    us.

    A later call takes the chunk that arrived there, even days later and from another program.
    """
    if (size := _still_due(upload, sha256, by)) is None:
        return True, ""
    if store.current().settle(upload.team_id, sha256, size):
        chunks.note(upload.team, sha256, size)
        return True, ""
    return False, store.current().offer(upload.team_id, sha256, size)


def _still_due(upload: Upload, sha256: str, by: Actor) -> int | None:
    """Return the size of a chunk that is due; None if it is here already."""
    by.require(Right.SUBMIT)
    if upload.state != Upload.State.OPEN:
        raise Conflict(f"This upload is {upload.state}; it takes no more chunks.", code="upload-is-complete")
    sizes = _sizes(upload.files.all())
    if sha256 not in sizes:
        raise NotFound(f"No file of this upload has a chunk {sha256}.", code="chunk-not-listed")
    if chunks.claim(upload.team, sha256):
        return None
    chunks.check_quota(upload.team, sizes[sha256])
    return sizes[sha256]


@transaction.atomic
def complete(*, upload: Upload, by: Actor) -> Upload:
    """Complete an upload whose chunks are all here. A worker unpacks a packed file, and its content takes the file's
    place."""
    by.require(Right.SUBMIT)
    upload = Upload.objects.select_for_update().get(pk=upload.pk)
    if upload.state == Upload.State.COMPLETE or (upload.state == Upload.State.UNPACKING and not _is_given_up(upload)):
        return upload
    if upload.state == Upload.State.REFUSED:
        raise Conflict(f"This upload was refused: {upload.reason}", code="upload-is-refused")
    if lacking := missing(upload):
        raise Conflict(
            f"{len(lacking)} chunks are missing.",
            code="chunks-missing",
            hint="Send what `missing` of the upload lists, then complete it again.",
        )
    files = list(upload.files.all())
    if len(files) == 1 and archives.is_packed(files[0].path):
        upload.state = Upload.State.UNPACKING
        upload.job = jobs.enqueue(kind=UNPACK, title=f"Unpack {files[0].path}", by=by)
    else:
        upload.state = Upload.State.COMPLETE
    upload.save(update_fields=["state", "job"])
    audit.record(by, "completed", upload, file_count=len(files))
    return upload


def require_complete(upload: Upload) -> None:
    """Raise Conflict unless the upload is complete."""
    match upload.state:
        case Upload.State.OPEN:
            hint = "Send what is missing, then complete it."
            raise Conflict("The upload is not complete.", code="upload-is-open", hint=hint)
        case Upload.State.UNPACKING:
            raise Conflict("The upload is still being unpacked.", code="upload-is-unpacking", hint="Wait a little.")
        case Upload.State.REFUSED:
            raise Conflict(f"The upload was refused: {upload.reason}", code="upload-is-refused")


def why_stuck(upload: Upload) -> str:
    """Say why the upload was refused, or why nobody unpacks it; empty if nothing is wrong."""
    if upload.state == Upload.State.UNPACKING and _is_given_up(upload):
        return upload.job.reason if upload.job else "Nobody unpacks it any more; complete it again."
    return upload.reason


def _is_given_up(upload: Upload) -> bool:
    """Whether its job was cancelled or no worker could do it. To complete the upload again is another try."""
    return upload.job is None or upload.job.can_retry


@transaction.atomic
def unpacked(*, upload: Upload, files: list[UploadedFile], job: Job) -> None:
    """Replace the packed file by what the worker found in it."""
    jobs.require_lease(job)
    if not Upload.objects.filter(pk=upload.pk, state=Upload.State.UNPACKING).update(state=Upload.State.COMPLETE):
        return  # a user deleted the upload
    upload.files.all().delete()
    _give(files, upload)
    audit.noted(upload.team, "unpacked", upload)


@transaction.atomic
def refuse(*, upload: Upload, reason: str, job: Job) -> None:
    """Refuse an upload that can never be unpacked."""
    jobs.require_lease(job)
    Upload.objects.filter(pk=upload.pk).update(state=Upload.State.REFUSED, reason=reason)
    tallies.add(tallies.UPLOADS_REFUSED)


@transaction.atomic
def discard(*, upload: Upload, by: Actor) -> None:
    by.require(Right.SUBMIT)
    audit.record(by, "discarded", upload)
    if upload.job is not None and upload.job.can_cancel:
        jobs.cancel(job=upload.job, by=by)
    try:
        upload.delete()
    except ProtectedError:
        raise Conflict("A model or a prompt set was made of this upload.", code="in-use") from None


def used(rows: Iterable[Upload]) -> set[UUID]:
    """Return the ids of uploads that a model, a prompt set or a classifier was made of."""
    wanted = [upload.pk for upload in rows]
    return {
        pk for users, name in _users() for pk in users.filter(**{f"{name}__in": wanted}).values_list(name, flat=True)
    }


def _users() -> list[tuple[Any, str]]:
    """Return the rows of each kind that can be made of an upload, and their field that names it."""
    links: list[Any] = [field for field in Upload._meta.get_fields(include_hidden=True) if field.one_to_many]
    return [(one.related_model._base_manager, one.field.name) for one in links if one.on_delete is PROTECT]


def keep(*, team: Team, name: str, files: Iterable[tuple[str, bytes]], by: Actor) -> Upload:
    """Store content from memory, such as pasted prompts, as a complete upload."""
    made = [chunks.keep_stream(team, path, BytesIO(content)) for path, content in files]
    with transaction.atomic():
        upload = Upload.objects.create(team=team, created_by=by.user, name=name, state=Upload.State.COMPLETE)
        _give(made, upload)
    return upload


def sweep() -> tuple[int, int]:
    """Delete uploads that nobody finished or used in a week, then chunks that no upload has. Return how many of
    each."""
    upload_count = 0
    old = Upload.objects.filter(created__lt=timezone.now() - KEPT_UNUSED)
    for users, name in _users():
        old = old.exclude(pk__in=users.exclude(**{name: None}).values(name))
    for upload in old:
        try:
            with transaction.atomic():
                upload.delete()
            upload_count += 1
        except ProtectedError:
            continue  # somebody has just begun to use it
    store.current().sweep()
    return upload_count, sum(chunks.sweep(team) for team in Team.objects.filter(chunks__isnull=False).distinct())


def _give(files: list[UploadedFile], upload: Upload) -> None:
    """Store files that belonged to no upload yet."""
    for file in files:
        file.upload = upload
    UploadedFile.objects.bulk_create(files)


def _sizes(files: Iterable[UploadedFile]) -> dict[str, int]:
    """Return the size of each chunk: the standard length, but for the last of each file."""
    sizes: dict[str, int] = {}
    for file in files:
        for index, sha in enumerate(file.chunks):
            size = min(settings.CHUNK_BYTES, file.size - index * settings.CHUNK_BYTES)
            if sizes.setdefault(sha, size) != size:
                raise Invalid(f"The chunk {sha} is listed with two lengths, {sizes[sha]} and {size}.", field="files")
    return sizes

"""The chunks of a team: which are here, how much room they take, and how a stream becomes chunks."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from webapp.accounts.models import Team
from webapp.core.problems import TooLarge
from webapp.uploads import paths, store, storing
from webapp.uploads.models import Chunk, Upload, UploadedFile

AT_ONCE = 500  # databases limit the number of values in one query
YOUNG = timedelta(hours=1)  # a chunk may arrive before the row that lists it


def present(team: Team, shas: Iterable[str]) -> set[str]:
    wanted = list(shas)
    found: set[str] = set()
    for start in range(0, len(wanted), AT_ONCE):
        part = Chunk.objects.filter(team=team, sha256__in=wanted[start : start + AT_ONCE])
        found.update(part.values_list("sha256", flat=True))
    return found


def claim(team: Team, sha256: str) -> bool:
    """Tell whether a chunk is here. If so, a sweep leaves it; a sweep that has taken it already is waited for."""
    return bool(Chunk.objects.filter(team=team, sha256=sha256).update(created=timezone.now()))


def note(team: Team, sha256: str, size: int) -> None:
    """Record a chunk that has come. Two clients may send the same at once."""
    Chunk.objects.bulk_create([Chunk(team=team, sha256=sha256, size=size)], ignore_conflicts=True)


def used_bytes(team: Team) -> int:
    return Chunk.objects.filter(team=team).aggregate(total=Sum("size"))["total"] or 0


def check_quota(team: Team, more: int) -> None:
    used, allowed = used_bytes(team), settings.TEAM_QUOTA_BYTES
    if used + more > allowed:
        raise TooLarge(
            f"{more} bytes more would exceed the {allowed} bytes your team may keep; it keeps {used} now.",
            code="quota-exceeded",
            hint="Delete models or prompts you no longer need, or ask the operator for more.",
        )


def keep_stream(team: Team, path: str, stream: Any) -> UploadedFile:
    """Store a stream in chunks, as a file that belongs to no upload yet."""
    shas, size = [], 0
    while content := _read_fully(stream, settings.CHUNK_BYTES):
        sha = hashlib.sha256(content).hexdigest()
        if not claim(team, sha):
            check_quota(team, len(content))
            store.current().put(team.pk, sha, len(content), io.BytesIO(content))
            note(team, sha, len(content))
        shas.append(sha)
        size += len(content)
    return UploadedFile(path=paths.clean(path), size=size, chunks=shas)


def sweep(team: Team) -> int:
    """Delete chunks that no upload has; return how many. A team that unpacks is left alone: its new chunks have no rows
    yet."""
    if Upload.objects.filter(team=team, state=Upload.State.UNPACKING).exists():
        return 0
    old = Chunk.objects.filter(team=team, created__lt=timezone.now() - YOUNG)
    candidates = list(old.values_list("sha256", flat=True))
    used = {sha for chunks in UploadedFile.objects.filter(upload__team=team).values_list("chunks", flat=True)
            for sha in chunks}  # fmt: skip
    return sum(_forget(old, team, sha) for sha in candidates if sha not in used)


def _forget(old: QuerySet[Chunk], team: Team, sha256: str) -> bool:
    """Delete row and content in one transaction. Who sends the chunk anew meanwhile waits for the row, so their chunk
    comes later."""
    with transaction.atomic():
        is_gone = bool(old.filter(sha256=sha256).delete()[0])
        if is_gone:
            store.current().delete(team.pk, sha256)
    return is_gone


def _read_fully(stream: Any, wanted: int) -> bytes:
    pieces, count = [], 0
    while count < wanted and (piece := stream.read(min(storing.PIECE, wanted - count))):
        pieces.append(piece)
        count += len(piece)
    return b"".join(pieces)

"""Unpack an upload: archives into their files, Parquet into JSON lines. A worker does this and not the web process: it
may take minutes, and a stranger's archive may be made to hurt. It needs no engine, so this module may import Django."""

from __future__ import annotations

import tempfile
from pathlib import Path

from webapp.core.problems import Problem
from webapp.uploads import archives, chunks
from webapp.uploads import services as uploads
from webapp.uploads.kinds import UNPACK
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader
from webapp.uploads.storing import StoreTrouble
from worker import tables
from worker.attempt import Attempt
from worker.database import Stopped

KIND = UNPACK


def work(attempt: Attempt) -> None:
    """Complete the upload with the files that were in it, or refuse it with the reason."""
    upload = attempt.insist(lambda: Upload.objects.select_related("team").filter(job=attempt.job).first())
    if upload is None:
        return  # somebody threw it away
    try:
        files = _unpacked(attempt, upload, attempt.insist(lambda: upload.files.get()))
    except StoreTrouble:
        raise  # not the upload's fault
    except Problem as refusal:
        reason = " ".join(filter(None, (refusal.detail, refusal.hint)))
        attempt.insist(lambda: uploads.refuse(upload=upload, reason=reason, job=attempt.job))
        raise
    attempt.insist(lambda: uploads.unpacked(upload=upload, files=files, job=attempt.job))


def _unpacked(attempt: Attempt, upload: Upload, packed: UploadedFile) -> list[UploadedFile]:
    reader = Watched(attempt, packed, upload)
    if archives.is_table(packed.path):
        return [_as_json_lines(attempt, upload, packed, reader)]
    members = archives.members(reader, packed.path)
    files = [chunks.keep_stream(upload.team, path, stream) for path, stream in members]
    if len(files) == 1 and archives.is_table(files[0].path):
        return _unpacked(attempt, upload, files[0])
    return files


def _as_json_lines(attempt: Attempt, upload: Upload, table: UploadedFile, reader: Watched) -> UploadedFile:
    tables.check_size(table.path, table.size)
    with tempfile.TemporaryDirectory(prefix="drafthouse-table-") as folder:
        copy = Path(folder) / "table.parquet"
        with copy.open("wb") as file:
            while piece := reader.read(1 << 20):
                file.write(piece)
        with tables.as_json_lines(copy, table.path, attempt.hold.may_go_on).open("rb") as lines:
            return chunks.keep_stream(upload.team, f"{table.path}.jsonl", lines)


class Watched(FileReader):
    """Reader that counts its progress, and stops when the worker must put the job down."""

    def __init__(self, attempt: Attempt, file: UploadedFile, upload: Upload) -> None:
        super().__init__(file, upload.team_id)
        self._attempt = attempt

    def read(self, size: int = -1) -> bytes:
        if not self._attempt.hold.may_go_on():
            raise Stopped
        self._attempt.progress(self.tell() * len(self._chunks) // max(1, self.size), len(self._chunks))
        return super().read(size)

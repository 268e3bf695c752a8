"""Unpacking what came packed: archives into their files, Parquet into JSON lines. Away from the web, because it may
take minutes, and because what strangers packed may be made to hurt."""

from __future__ import annotations

import tempfile
from pathlib import Path

from webapp.core.problems import Problem
from webapp.uploads import archives, chunks
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader
from webapp.uploads.storing import StoreTrouble
from worker import tables
from worker.database import Stopped, insist
from worker.engine_process import EngineProcess
from worker.pulse import Hold


def unpack(hold: Hold, engine: EngineProcess) -> None:
    """The upload is complete with what was in it, or refused with the reason, and the job has ended accordingly."""
    upload = insist(hold, lambda: Upload.objects.select_related("team").filter(job=hold.job).first())
    if upload is None:
        return  # somebody threw it away
    try:
        files = _unpacked(hold, upload, insist(hold, lambda: upload.files.get()))
    except StoreTrouble:
        raise  # not the upload's fault
    except Problem as refusal:
        reason = " ".join(filter(None, (refusal.detail, refusal.hint)))
        insist(hold, lambda: uploads.refuse(upload=upload, reason=reason, job=hold.job))
        raise
    insist(hold, lambda: uploads.unpacked(upload=upload, files=files, job=hold.job))


def _unpacked(hold: Hold, upload: Upload, packed: UploadedFile) -> list[UploadedFile]:
    reader = Watched(hold, packed, upload)
    if archives.is_table(packed.path):
        return [_as_json_lines(hold, upload, packed, reader)]
    members = archives.members(reader, packed.path)
    files = [chunks.keep_stream(upload.team, path, stream) for path, stream in members]
    if len(files) == 1 and archives.is_table(files[0].path):
        return _unpacked(hold, upload, files[0])
    return files


def _as_json_lines(hold: Hold, upload: Upload, table: UploadedFile, reader: Watched) -> UploadedFile:
    tables.check_size(table.path, table.size)
    with tempfile.TemporaryDirectory(prefix="drafthouse-table-") as folder:
        copy = Path(folder) / "table.parquet"
        with copy.open("wb") as file:
            while piece := reader.read(1 << 20):
                file.write(piece)
        with tables.rows(copy, table.path, hold.may_go_on) as lines:
            return chunks.keep_stream(upload.team, f"{table.path}.jsonl", lines)


class Watched(FileReader):
    """Tells how far the reading is, and stops when the job is to be put down."""

    def __init__(self, hold: Hold, file: UploadedFile, upload: Upload) -> None:
        super().__init__(file, upload.team_id)
        self._hold = hold

    def read(self, size: int = -1) -> bytes:
        if not self._hold.may_go_on():
            raise Stopped
        self._hold.progress(self.tell() * len(self._chunks) // max(1, self.size), len(self._chunks))
        return super().read(size)

"""Unpack an upload: archives into their files, Parquet into JSON lines. A worker does this and not the web process: it
may take minutes, and a stranger's archive may be made to hurt. It needs no engine, so this module may import Django."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from webapp.core.problems import Invalid, Problem
from webapp.registry.prompt_sets import LARGEST_PROMPT_FILE, MOST_PROMPTS
from webapp.uploads import archives, chunks
from webapp.uploads import services as uploads
from webapp.uploads.kinds import UNPACK
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader
from webapp.uploads.storing import StoreTrouble
from worker import apart
from worker.attempt import Attempt
from worker.database import Stopped
from worker.evidence import job_may_have_ended_it, marks
from worker.reading_parquet import UnreadableParquet

KIND = UNPACK
TOO_LARGE = "wants more memory than a table may take."
MEMORY = 1 << 30  # bytes that reading a table may take
BadTable = partial(Invalid, code="bad-table", hint="Correct the file, or send its rows as JSON lines.")


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
    if table.size > LARGEST_PROMPT_FILE:  # packed larger than its rows may be unpacked, it need not be opened
        raise BadTable(
            f"{table.path} has {table.size} bytes; a prompt file may have at most {LARGEST_PROMPT_FILE}.",
            hint="Send fewer rows, or only the columns that prompts are made of.",
        )
    with tempfile.TemporaryDirectory(prefix="drafthouse-table-") as folder:
        copy = Path(folder) / "table.parquet"
        with copy.open("wb") as file:
            while piece := reader.read(1 << 20):
                file.write(piece)
        with as_json_lines(copy, table.path, attempt.hold.may_go_on).open("rb") as lines:
            return chunks.keep_stream(upload.team, f"{table.path}.jsonl", lines)


def as_json_lines(path: Path, name: str, may_go_on: Callable[[], bool], memory: int = MEMORY) -> Path:
    """Return a file of the rows, beside the table. Raise Invalid with the number of the row that is wrong."""
    lines, before = path.with_name(f"{path.name}.jsonl"), marks()
    try:
        apart.run(
            "worker.reading_parquet:write",
            *map(str, (path, lines, MOST_PROMPTS, LARGEST_PROMPT_FILE, memory)),
            doing=f"{name} could not be read",
            told=(UnreadableParquet, MemoryError),
            may_go_on=may_go_on,
        )
    except UnreadableParquet as refusal:
        raise BadTable(f"{name}, {refusal}") from None
    except MemoryError:
        raise BadTable(f"{name} {TOO_LARGE}") from None
    except apart.Died as death:
        if not job_may_have_ended_it(death.code, before, marks()):
            raise
        why = TOO_LARGE if death.code == -signal.SIGABRT else "brought down the process that read it."
        raise BadTable(f"{name} {why}") from None
    return lines


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

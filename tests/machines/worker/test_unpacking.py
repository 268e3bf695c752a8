"""Parquet files and archives, unpacked by a worker: their content is used, and an error names its row."""

from __future__ import annotations

import io
import json
import os
import signal
import zipfile

import pytest
from arro3.core import Array, DataType, Table, list_array
from arro3.io import write_parquet

from tests.kit.uploads import sent
from webapp.core.problems import Invalid
from webapp.registry import prompt_sets
from webapp.uploads.models import Upload
from webapp.uploads.reading import FileReader
from worker import gauges
from worker.disk import NotNow
from worker.jobs.unpack import as_json_lines

TEXT = DataType.string()


def parquet(**columns: tuple[DataType, list] | Array) -> bytes:
    made = {name: Array(one[1], type=one[0]) if isinstance(one, tuple) else one for name, one in columns.items()}
    table = Table.from_pydict(made)
    file = io.BytesIO()
    write_parquet(table, file, compression="zstd(3)")
    return file.getvalue()


@pytest.fixture
def unpack(team, make_worker):
    """Send a file and let the worker look."""

    def unpack_one(name: str, content: bytes) -> Upload:
        upload = sent(team, name, content)
        make_worker(queue="light").look()
        upload.refresh_from_db()
        return upload

    return unpack_one


def rows(upload: Upload) -> list[dict]:
    (file,) = upload.files.all()
    return [json.loads(line) for line in FileReader(file, upload.team_id).read().splitlines()]


def test_a_published_set_as_packed_parquet_becomes_prompts(team, unpack):
    turns = Array(["Write a poem.", "Now a shorter one.", "What is a monad?"], type=TEXT)
    lists = list_array(Array([0, 2, 3], type=DataType.int32()), turns)  # the first has two
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data/bench.parquet", parquet(turns=lists, category=(TEXT, ["writing", "coding"])))
    upload = unpack("bench.zip", packed.getvalue())
    assert (upload.state, upload.job.state) == ("complete", "succeeded")
    dataset = prompt_sets.add_dataset(name="bench", upload=upload, by=team)
    assert [prompt.text for prompt in dataset.prompts.all()] == turns.to_pylist()
    assert dataset.categories == {"writing": 2, "coding": 1}


def test_every_kind_of_cell_becomes_what_json_can_hold(unpack):
    upload = unpack(
        "p.parquet",
        parquet(
            text=(DataType.binary(), [b"forgotten to be called text", "größer".encode()]),
            score=(DataType.float64(), [0.5, float("nan")]),
            count=(DataType.int64(), [1, None]),
        ),
    )
    assert rows(upload) == [
        {"text": "forgotten to be called text", "score": 0.5, "count": 1},
        {"text": "größer", "score": None, "count": None},
    ]


def test_a_broken_row_is_told_by_its_number(unpack):
    pictures = [b"a picture"] * 40 + [b"\x89PNG\xff"]
    upload = unpack("p.parquet", parquet(text=(TEXT, ["x"] * 41), picture=(DataType.binary(), pictures)))
    assert upload.state == "refused"
    assert upload.reason.startswith("p.parquet, row 41 cannot be taken: its column 'picture' holds bytes")
    assert (upload.job.state, upload.job.reason) == (
        "failed",
        upload.reason.removesuffix(" Correct the file, or send its rows as JSON lines."),
    )


def test_more_rows_or_bytes_than_a_file_may_have_are_refused(unpack):
    most = prompt_sets.MOST_PROMPTS
    upload = unpack("p.parquet", parquet(text=(TEXT, ["x"] * (most + 1))))
    assert upload.state == "refused" and f"row {most + 1} cannot be taken" in upload.reason
    bomb = parquet(text=(TEXT, ["x" * 1_000_000] * 80))
    assert len(bomb) < 100_000
    upload = unpack("p.parquet", bomb)
    assert upload.state == "refused" and "the rows make more than 67108864 bytes" in upload.reason


DAMAGED = {
    "lies": b"PAR1" + b"\xff" * 100 + b"PAR1",
    "torn": parquet(text=(TEXT, ["x"]))[:-20],
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_parquet_file_is_told_in_words(unpack, content):
    upload = unpack("p.parquet", content)
    assert upload.state == "refused" and "is torn, or not a Parquet file" in upload.reason


def test_a_reader_that_wants_more_memory_than_it_may_have_dies_alone(tmp_path):
    table = tmp_path / "p.parquet"
    table.write_bytes(parquet(text=(TEXT, ["x" * 100_000_000])))
    with pytest.raises(Invalid, match="more memory than a table may take"):
        as_json_lines(table, "p.parquet", lambda: True, memory=200 << 20)


def test_a_reader_that_somebody_kills_is_not_the_files_fault(tmp_path):
    table = tmp_path / "p.parquet"
    table.write_bytes(parquet(text=(TEXT, ["x"])))
    others = set(gauges.family(os.getpid()))  # the engine of other tests may be among them

    def kill_at_once() -> bool:
        for reader in set(gauges.family(os.getpid())) - others:
            os.kill(reader, signal.SIGKILL)
        return True

    with pytest.raises(NotNow, match="was ended by SIGKILL"):
        as_json_lines(table, "p.parquet", kill_at_once)

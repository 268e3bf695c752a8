"""Traces as tables: the rounds as CSV and Parquet, and the answers as the tools of Spec-Bench read them."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.kit import make
from tests.kit.comparisons import read
from webapp.core.parquet import parquet


@pytest.fixture
def comparison(world):
    made = make.comparison(world.actor(world.bob), repeats=2)
    make.decode_all(made)
    return made


def download(world, comparison, name: str) -> bytes:
    answer = world.api(world.victor).get(f"/api/v1/comparisons/{comparison.pk}/{name}")
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    return b"".join(answer.streaming_content)


def test_csv_and_parquet_hold_the_same_rounds_as_the_traces(world, comparison):
    lines = list(csv.DictReader(io.StringIO(download(world, comparison, "rounds.csv").decode())))
    rows = read(download(world, comparison, "rounds.parquet"))
    assert [{name: str(value) for name, value in row.items()} for row in rows] == lines
    sample = comparison.runs.get(number=2).samples.order_by("prompt__number", "repeat").first()
    events = world.api(world.bob).get(f"/api/v1/samples/{sample.pk}/trace/").json()["events"]
    verdicts = [event for event in events if event["event"] == "verified"]
    own = [
        row for row in rows if (row["strategy"], row["prompt"], row["repeat"]) == ("static:4", sample.prompt.name, 1)
    ]
    assert [(row["accepted"], row["verify_end_ns"]) for row in own] == [
        (one["accepted"], one["end_ns"]) for one in verdicts
    ]
    drafted = next(event for event in events if event["event"] == "drafted")
    assert (own[0]["drafted"], own[0]["lookahead"]) == (len(drafted["tokens"]), drafted["lookahead"])


def test_the_answers_add_up_as_spec_bench_adds_them(world, comparison):
    lines = [
        json.loads(line) for line in download(world, comparison, "spec-bench.jsonl?strategy=static:4").splitlines()
    ]
    assert [line["question_id"] for line in lines] == [1, 2, 3]
    for line in lines:
        assert line["model_id"] == "static:4" and [choice["index"] for choice in line["choices"]] == [0, 1]
        first = line["choices"][0]
        assert sum(first["new_tokens"]) == 3 and sum(first["wall_time"]) > 0 and first["turns"] == ["abc"]
        assert sum(first["accept_lengths"]) >= 3 and len(first["accept_lengths"]) == sum(first["decoding_steps"])
    answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/spec-bench.jsonl?strategy=disco")
    assert answer.status_code == 400 and "autoregressive, static:4" in answer.json()["hint"]


def test_parquet_of_many_rows_has_groups_and_keeps_every_kind_of_value():
    columns = {f"c{n}": kind for n, kind in enumerate([int, float, str] * 6)}  # more columns than a short list has
    values = {int: lambda n: (-1) ** n * 10**n, float: lambda n: n / 3, str: lambda n: "ö" * n}
    rows = [[values[kind](n) for kind in columns.values()] for n in range(18)]
    found = read(b"".join(parquet(columns, rows, at_once=7)))
    assert [list(row.values()) for row in found] == rows
    assert read(b"".join(parquet(columns, []))) == []

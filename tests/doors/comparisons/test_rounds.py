"""The answers of a strategy as the tools of Spec-Bench read them."""

from __future__ import annotations

import json

import pytest

from tests.kit import make


@pytest.fixture
def comparison(world):
    made = make.comparison(world.actor(world.bob), repeats=2)
    make.decode_all(made)
    return made


def download(world, comparison, name: str) -> bytes:
    answer = world.api(world.victor).get(f"/api/v1/comparisons/{comparison.pk}/{name}")
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    return b"".join(answer.streaming_content)


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

"""The starter files are complete: a pair that fits together, its ladder, and prompts whose splits share no source."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from decoding.dice.sampling import Sampling
from decoding.prompts.prompt import read_prompts
from starter.ladder import RUNGS
from tests.kit.terminal import ROOT, read

STARTER = ROOT / "starter"
PAIR = STARTER / "pair"
SPLITS = ("train", "validation", "test")


def rows_of(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (STARTER / "prompts" / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["code", "prose", "edits", "json", "quotes"])
def test_our_own_reader_takes_prompts_that_are_there_once_in_splits_that_share_no_source(name: str) -> None:
    path, rows = STARTER / "prompts" / f"{name}.jsonl", rows_of(name)
    prompts = read_prompts(path.read_text("utf-8"), path.name)
    assert {prompt.split for prompt in prompts} == set(SPLITS)
    assert all(prompt.category for prompt in prompts)
    assert len({row["text"] for row in rows}) == len({row["id"] for row in rows}) == len(rows)
    sources = [{row["source"] for row in rows if row["split"] == split} for split in SPLITS]
    assert all(not a & b for a, b in combinations(sources, 2))


def test_pair_and_ladder_have_one_tokenizer() -> None:
    models = [PAIR / "target", PAIR / "draft", *(STARTER / "ladder" / rung.name for rung in RUNGS)]
    assert len({(model / "tokenizer.json").read_bytes() for model in models}) == 1


def test_the_defaults_are_settings_the_engine_takes() -> None:
    defaults = read(STARTER / "defaults.json")
    assert Sampling(**defaults["sampling"], max_new_tokens=defaults["max_new_tokens"]).fixes_the_text

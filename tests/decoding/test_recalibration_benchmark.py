"""`./drafthouse bench recalibration` in small: its figures are of the run, and every bar gets one."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from benchmarks import _recalibration_bars, recalibration
from decoding.disco.making import record
from decoding.disco.splits import Splits
from decoding.prices.cost_model import CostModel
from decoding.spec import Sampling
from tests.decoding.test_comparison import pair
from tests.decoding.test_planning import ALL, SHARED, prompts
from worker.terminal.ending import ended

COSTS = CostModel.of_one((0.0, *(1.0 + 0.05 * rows for rows in range(24))), 0.2, 0.1, 0.02, 0.02, decision=0.02)


def test_every_classifier_is_judged_on_every_text_and_the_worst_case_is_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ready, material = pair(), Splits.of(ALL)
    where = [("code", "greedy"), ("code", "warm")]
    recordings = {
        place: record(ready, material, sampling)
        for place, sampling in zip(where, (Sampling(max_new_tokens=30), SHARED), strict=True)
    }
    dear = dataclasses.replace(COSTS, draft=0.3)
    cells, classifiers = _recalibration_bars.replayed(recordings, COSTS, dear)
    assert len(classifiers) == 4 and len(cells) == 8
    assert all(each.busy_price > each.price for each in classifiers)
    assert sum(each.is_right for each in cells) == 4
    assert all(math.isfinite(each.kept) and each.recalibrated > 0 for each in cells)
    right, wrong = classifiers[2], classifiers[0]
    cards = _recalibration_bars.spoiled(right, recordings["code", "warm"], COSTS)
    assert cards[1].card_price < cards[0].card_price == right.price < cards[2].card_price
    assert all(each.used_price == pytest.approx(right.price, rel=0.15) for each in cards)
    bars = _recalibration_bars.bars_of(cells, cards)
    assert [bar.figure for bar in bars] == [
        min(each.recalibrated for each in cells if not each.is_right),
        min(each.busy for each in cells if each.is_right),
        min(each.kept for each in cells if each.is_right),
        min(each.used for each in cards),
    ]
    plain = _recalibration_bars.best_plain(recordings["code", "warm"].validation, COSTS)
    chosen = {"wrong": wrong.with_card(), **{each.name: each.classifier for each in cards[::2]}}
    rows = _recalibration_bars.confirmed(ready, prompts(6, "run", 9), SHARED, plain, chosen)
    assert rows[0]["label"] == plain.label and len(rows) == 7
    assert [row["price"] is not None for row in rows] == [False] * 3 + [
        True,
        False,
    ] * 2  # the wrong one's card has no costs
    assert rows[0]["over_plain"] == 1.0 and all(row["over_plain"] > 0 for row in rows)
    _recalibration_bars.show({
        "cells": [dataclasses.asdict(each) for each in cells],
        "bars": [{**dataclasses.asdict(bar), "reached": bar.reached} for bar in bars],
        "spoiled": [vars(each) for each in cards],
        "ran": {"wrong": wrong.name, "prompts": 6, "rows": rows},
    })  # fmt: skip
    told = capsys.readouterr().out
    assert all(bar.what in told for bar in bars) and "its own" in told


def test_a_slip_is_told_in_a_sentence_and_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    for slip, sentence in (
        (["--run", "0"], "not a whole number from 1 up"),
        (["--other", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
    ):
        assert ended(recalibration.run_all, [*slip, "--json", str(result)]) == 2
        assert sentence in capsys.readouterr().err
    assert not result.exists()

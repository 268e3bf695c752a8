"""Machine cards: read, refused by field, and prices between and beyond the known ones."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from decoding.prices.machine_card import GRADES, REQUIRED, BadCard, Card, card_called, published, read_card

GIVEN: dict[str, Any] = {
    "format": "drafthouse.card/1",
    "name": "Ours",
    "source": "measured here",
    "grade": "measured",
    "target_devices": 1,
    "draft_devices": 1,
    "message_ms": 0.02,
    "batches": [
        {"batch": 1, "target_ms": {"1": 10, "9": 14}, "draft_ms": {"1": 1, "11": 2}},
        {"batch": 4, "target_ms": {"1": 16}, "draft_ms": {"1": 2}},
    ],
}


def test_prices_lie_between_the_known_ones_and_go_on_beyond_them() -> None:
    costs = Card.from_dict(GIVEN).costs
    assert [costs.verify(1, rows) for rows in (1, 5, 17)] == pytest.approx([0.010, 0.012, 0.018])
    assert [costs.verify(batch, 5) for batch in (2, 4, 7)] == pytest.approx([0.012 + 0.004 / 3, 0.016, 0.020])
    assert [costs.draft(1, rows) for rows in (1, 6)] == pytest.approx([0.001, 0.0015])
    assert costs.prepare(6) == pytest.approx(0.0015)
    assert costs.verify(4, 4 * 3) == pytest.approx(0.016)
    assert costs.draft(4) == pytest.approx(0.002)


def test_a_card_is_written_as_it_is_read() -> None:
    card = Card.from_dict(GIVEN)
    assert read_card(json.dumps(card.to_dict())) == card


def test_every_card_in_the_box_has_a_source_and_a_grade() -> None:
    assert {"llama-70b-1b-h100", "qwen3-32b-0.6b-h100", "two-cores-epyc"} <= set(published())
    for name, card in published().items():
        assert card_called(name) == card
        assert card.source and card.grade in GRADES


SPOILT = [  # fields, and the values for which they are refused
    ("name", ""),
    ("grade", "sure"),
    ("draft_devices", -1),
    ("colour", "red"),
    ("batches", []),
    ("batches[1].batch", 1),
    ("batches[0].target_ms", 10),
    ("batches[0].target_ms.1", 0),
    ("batches[0].target_ms.1", float("nan")),
    ("batches[0].target_ms.9", 2),
    ("batches[1].draft_ms.1", 0.5),  # less than for one text
]


def test_a_bad_card_is_refused_by_field() -> None:
    for field, value in SPOILT:
        given = copy.deepcopy(GIVEN)
        *way, last = re.findall(r"\w+", field)
        at: Any = given
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        at[last] = value
        with pytest.raises(BadCard) as refused:
            Card.from_dict(given)
        assert refused.value.field == field and field in str(refused.value)
    for name in REQUIRED:
        with pytest.raises(BadCard, match=f"{name} of the machine card is missing"):
            Card.from_dict({key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize("text", ["[1", "{}", "[" * 5000, '{"a": 1, "a": 2}', "x" * 200_000])
def test_what_is_no_card_is_refused(text: str) -> None:
    with pytest.raises(BadCard, match=r"^The machine card |^\w+ of the machine card "):
        read_card(text)


def test_an_unknown_name_lists_the_cards_and_a_file_may_be_named(tmp_path: Path) -> None:
    with pytest.raises(BadCard, match=r"llama-70b-1b-h100.* Did you mean two-cores-epyc\?"):
        card_called("two-core-epyc")
    with pytest.raises(BadCard, match="cannot be read"):
        card_called(str(tmp_path / "none.json"))
    (tmp_path / "ours.json").write_text(json.dumps(GIVEN))
    assert card_called(str(tmp_path / "ours.json")).name == "Ours"

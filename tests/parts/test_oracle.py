from decoding.drafting.records import Record
from decoding.replay.oracle import BINS, analyse, lookaheads


def record(matches: str) -> Record:
    return Record.of([letter == "x" for letter in matches])


def test_both_readings_of_the_oracles_draft_count_stand_beside_a_static_lookahead() -> None:
    """Accepted tokens alone, and with the refused token that a drafting oracle has to draft to learn of it."""
    assert lookaheads(record("xx.x..xxx")) == [2, 1, 0, 3]
    found = analyse(["p"], [record("xx.x..xxx")], lookahead=2)
    # the last token of a full text is the target's own
    assert found["oracle"] == {"target": 4, "draft": 3 + 2 + 1 + 2, "accepted": 2 + 1 + 0 + 2}
    assert (found["static"]["target"], found["static"]["draft"]) == (4, 8)


def test_the_figures_count_every_round_once() -> None:
    records = [record("xx.x..xxx"), record("....."), record("xxxxxxxx.x")]
    found = analyse(["a", "b", "c"], records, lookahead=4)
    assert sum(found["histogram"]) == 4 + 5 + 2
    assert found["histogram"][0] == 6
    assert found["one"]["prompt"] == "a"  # of middling variety
    assert len(found["by_progress"]) == BINS


def test_the_best_source_of_each_position_needs_no_more_passes_than_any_source() -> None:
    model, copied = record("xx.x..xxx"), record("..xxxx...")
    found = analyse(["p"], [model], 4, {"lookup": [copied]})["sources"]
    assert found["draft model"]["target"] == 4 and found["lookup"]["target"] == 5
    best = found["best of each position"]
    assert (best["target"], best["accepted"]) == (3, 2 + 3 + 1)  # xx. | xxx. (copied) | xx

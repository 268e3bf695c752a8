import json

import pytest

from decoding.trace.events import Anticipated, Drafted, Event, Finished, Started, Verified, from_dict, to_dict
from tests.golden.record import CHOICES, FOLDER, facts, name_of, read, summed

GOLDEN = FOLDER.with_name("two_rounds.jsonl")  # the pages' tests fold these files too
TWO_ROUNDS: list[Event] = [
    Started(5, 1_000),
    Drafted(1, 5, 3, (7, 8, 9), (0.9, 0.8, 0.1), (), "limit", "fresh", 3, 1_000, 4_000),
    Anticipated(1, ((3, 4, 2), (1, 6, 2)), 0.75, 4_000, 5_500),
    Verified(1, 1, 6, "correction", 3_000, 4_000, 6_000),
    Drafted(2, 7, 3, (4,), (0.3,), (0.25,), "rule", "hit", 0, 6_000, 6_500),
    Verified(2, 1, 2, "bonus", 500, 6_500, 8_500),
    Verified(3, 0, 0, "bonus", 0, 8_500, 10_000),
    Finished("eos", 5, 11_000),
]


def test_the_golden_trace_still_means_the_same() -> None:
    """Traces outlive versions: a change that breaks this file needs a reader for both."""
    assert read(GOLDEN) == TWO_ROUNDS


@pytest.mark.parametrize("label", [choice.label for choice in CHOICES])
def test_a_recorded_trace_still_folds_to_the_recorded_facts(label: str) -> None:
    wanted = json.loads((FOLDER / "expected.json").read_text())[name_of(label)]
    assert facts(summed(read(FOLDER / f"{name_of(label)}.jsonl"), label, wanted["tokens"])) == wanted


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"event": "imagined"}, "unknown event 'imagined'"), ({"tokens": None}, "tokens"), ({"mood": "good"}, "mood")],
)
def test_an_event_with_other_fields_is_refused(change, sentence) -> None:  # type: ignore[no-untyped-def]
    record = {name: value for name, value in {**to_dict(TWO_ROUNDS[1], 2), **change}.items() if value is not None}
    with pytest.raises(ValueError, match=sentence):
        from_dict(record)


def test_a_trace_folds_into_vllms_numbers() -> None:
    sample = summed(TWO_ROUNDS, "static:3", [7, 6, 4, 2, 0])
    assert (sample.num_target_passes, sample.num_spec_steps, sample.num_draft_passes) == (3, 2, 3)
    assert (sample.num_draft_tokens, sample.num_accepted_draft_tokens) == (4, 2)
    assert sample.acceptance_histogram == (0, 2, 0, 0)
    assert (sample.drafts_by_position, sample.accepted_by_position) == ((2, 1, 1), (2, 0, 0))
    assert (sample.draft_ns, sample.verify_ns, sample.decode_ns) == (3_500, 5_500, 10_000)
    assert sample.tokens_per_s == pytest.approx(5 / 10e-6)


def test_a_round_that_ended_within_the_prefill_is_not_timed() -> None:
    """A peer reads the prompt in its first round: its tokens count, but its time is not comparable."""
    sample = summed([Started(5, 6_000), *TWO_ROUNDS[1:]], "assisted", [7, 6, 4, 2, 0])
    assert (sample.timed_tokens, sample.decode_ns, sample.draft_ns, sample.verify_ns) == (3, 5_000, 500, 3_500)
    assert sample.num_spec_steps == 2

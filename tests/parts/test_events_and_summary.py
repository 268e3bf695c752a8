import dataclasses
import json

import pytest

from decoding.choice import choose
from decoding.measure.crossover import across_loads
from decoding.measure.definitions import DEFINITIONS
from decoding.measure.sample import Audit, SampleResult, sample_from_events
from decoding.measure.speedups import speedup
from decoding.measure.summary import judge, report
from decoding.measure.verdict import verdict
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


def folded() -> SampleResult:
    return sample_from_events(
        TWO_ROUNDS,
        choice=choose("static", {"lookahead": 3}),
        prompt="p",
        category="c",
        repeat=0,
        tokens=[7, 6, 4, 2, 0],
        text="",
    )


def test_a_trace_folds_into_vllms_numbers() -> None:
    sample = folded()
    assert (sample.num_target_passes, sample.num_spec_steps, sample.num_draft_passes) == (3, 2, 3)
    assert (sample.num_draft_tokens, sample.num_accepted_draft_tokens) == (4, 2)
    assert sample.acceptance_histogram == (0, 2, 0, 0)
    assert (sample.drafts_by_position, sample.accepted_by_position) == ((2, 1, 1), (2, 0, 0))
    assert (sample.draft_ns, sample.verify_ns, sample.decode_ns) == (3_500, 5_500, 10_000)
    assert sample.tokens_per_s == pytest.approx(5 / 10e-6)


def test_a_round_that_ended_within_the_prefill_is_not_timed() -> None:
    """A peer reads the prompt in its first round: its tokens count, but its time is not comparable."""
    events = [Started(5, 6_000), *TWO_ROUNDS[1:]]
    sample = sample_from_events(
        events, choice=choose("assisted"), prompt="p", category="c", repeat=0, tokens=[7, 6, 4, 2, 0], text=""
    )
    assert (sample.timed_tokens, sample.decode_ns, sample.draft_ns, sample.verify_ns) == (3, 5_000, 500, 3_500)
    assert sample.num_spec_steps == 2


def sample(strategy: str, prompt: str, speed: float, repeat: int = 0, outcome: str = "identical") -> SampleResult:
    return SampleResult(
        strategy, prompt, "c", repeat, 5, (1,) * 10, "", "length", 0, round(10e9 / speed), 10, 0, 0,
        1, 1, 1, 1, 1, (0, 1), (1,), (1,), Audit(outcome),  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_speedup_is_of_the_total_times_and_the_median_of_prompts_stands_beside_it() -> None:
    base = [sample("autoregressive", "a", 100), sample("autoregressive", "b", 10)]
    fast = [sample("static:4", "a", 150), sample("static:4", "b", 20)]
    gain = speedup(fast, base)
    assert gain is not None
    assert (gain.ratio, gain.median) == pytest.approx(((1 / 100 + 1 / 10) / (1 / 150 + 1 / 20), 1.75))


def rows(*samples: SampleResult, labels: str = "static:4") -> list[dict[str, object]]:
    choices = [choose("autoregressive"), choose("static", {"lookahead": 4})]
    return report(choices, {choice.label: "table" for choice in choices}, samples)


def pairs(speeds: list[float], outcome: str = "identical") -> list[SampleResult]:
    base = [sample("autoregressive", str(i), 100) for i in range(len(speeds))]
    return base + [sample("static:4", str(i), speed, outcome=outcome) for i, speed in enumerate(speeds)]


def prefilled(one: SampleResult, milliseconds: float) -> SampleResult:
    return dataclasses.replace(one, prefill_ns=round(milliseconds * 1e6))


def test_end_to_end_counts_the_drafts_reading_of_the_prompt_too() -> None:
    """The draft takes 40 ms longer to read the prompt."""
    base, fast = pairs([200.0])
    row = rows(prefilled(base, 100), prefilled(fast, 140))[1]
    assert row["speedup"]["ratio"] == pytest.approx(2.0)  # type: ignore[index]
    assert row["end_to_end"]["ratio"] == pytest.approx((100 + 100) / (140 + 50))  # type: ignore[index]
    assert row["prefill_ms"] == pytest.approx(140.0)


def test_bounds_and_peers_are_never_ranked() -> None:
    choices = [choose("autoregressive"), choose("oracle"), choose("static")]
    samples = [*pairs([120.0, 130, 125]), *(sample("oracle:32", str(i), 900) for i in range(3))]
    assert verdict(report(choices, dict.fromkeys((c.label for c in choices), "table"), samples)).startswith("static:4")


def test_every_number_of_a_row_that_needs_one_has_a_definition() -> None:
    row = rows(*pairs([200, 200]))[1]
    assert set(row) - {"strategy", "label", "params", "role", "runner", "samples"} == set(DEFINITIONS)
    assert (row["num_draft_tokens"], row["mean_acceptance_length"], row["acceptance_histogram"]) == (2, 2.0, [0, 2])


@pytest.mark.parametrize(
    ("strategy", "tokens", "told"), [("lookup", 7, True), ("lookup", 0, False), ("static", 7, False)]
)
def test_a_text_that_repeats_itself_is_told_where_copies_gain_by_it(strategy: str, tokens: int, told: bool) -> None:
    choices = [choose("autoregressive"), choose(strategy)]
    text = (tokens,) * 40 if tokens else tuple(range(40))
    samples = [dataclasses.replace(sample(choice.label, "a", 100), tokens=text) for choice in choices]
    found = across_loads(report(choices, {choice.label: "" for choice in choices}, samples), judge(choices, samples))
    assert ("97 % of the text repeats itself" in found["doubt"]) == told

"""Load: requests arrive, wait, and are decoded together. No text notices who its neighbours are."""

from __future__ import annotations

from collections import Counter, abc
from dataclasses import replace

import pytest
import torch

from decoding.backends import ours
from decoding.backends.contestants.base import Request
from decoding.backends.ours import SHARE_FOR_CACHES
from decoding.backends.serving import CachePool, TextCaches, serve
from decoding.choice import choose, parse_choices
from decoding.core.ending import Ending
from decoding.core.load import ONE, Arrived, Load, RequestQueue, loads
from decoding.core.loop import PIECE, Batch, never
from decoding.core.sequence import Sequence
from decoding.dice.sampling import Sampling
from decoding.errors import BadLoad, BadStrategy, BrokenModel
from decoding.measure.latency import Objective, figures, parse_objective
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult, Timing, sample_from_dict
from decoding.measure.schedule import blocks, stints
from decoding.prompts.prompt import PromptItem
from decoding.trace.events import Recorder, Verified
from decoding.trace.timing import Clock
from tests.kit.loads import PROMPTS, SAMPLINGS, decoded, fragile, texts
from tests.kit.pairs import comparison, pair
from tests.kit.runners import Counting
from tests.kit.worlds import World, state_of

pytestmark = pytest.mark.slow


@torch.inference_mode()
def test_long_prompts_add_one_piece_to_each_round_of_the_others() -> None:
    world, batch = World.of_tables(12, 7), Batch()
    target = Counting(world.target.model.table, state_of=state_of)  # type: ignore[attr-defined]
    lookahead, long = 3, (300, 200)

    def admit(prompt: abc.Sequence[int]) -> Sequence:
        own = World(target.new_runner(), world.draft.model.new_runner())
        choice, sampling = choose("static", {"lookahead": lookahead}), Sampling(max_new_tokens=100)
        made = own.sequence(choice, prompt, sampling, 0, None, Recorder())
        batch.admit(made)
        return made

    running = admit([3, 1])
    batch.play_round()
    late = [admit([5] * length) for length in long]
    while any(sequence.is_reading for sequence in late):
        length = len(running.text)
        batch.play_round()
        assert len(running.text) > length, "it went on meanwhile"
    passes = [rows for _, rows in target.passes]
    assert len(passes) == -(-sum(length - 1 for length in long) // PIECE)
    assert PIECE < max(passes) <= PIECE + 2 * (lookahead + 1)
    rounds = [event for event in running.sink.events if isinstance(event, Verified)]  # type: ignore[attr-defined]
    assert [one.prompts_ns > 0 for one in rounds[1:]] == [one.prompt_rows > 0 for one in rounds[:-1]]


def test_requests_wait_where_memory_holds_too_few_caches_and_the_comparison_says_so() -> None:
    """A table's cache takes 8 bytes for each token that it has room for."""
    crowded, five = pair(), choose("static").at(Load(5))
    longest = max(len(prompt.text) for prompt in PROMPTS) + SAMPLINGS["greedy"].max_new_tokens
    memory = 2 * 8 * (longest + ours.AHEAD) * 3.5 / SHARE_FOR_CACHES  # for three texts and a half
    crowded.contestants[ours.__name__] = own = ours.Ours(crowded, free=lambda device: int(memory))
    said = f"memory holds the caches of 3 texts of {longest + ours.AHEAD} tokens, so other requests wait"
    assert said in own.hardware(five, longest)
    assert "memory" not in own.hardware(choose("static").at(Load(3)), longest)
    assert "memory holds the caches of 1 text of 4,096 tokens" in own.hardware(five)  # where it is not known
    samples = decoded([five], SAMPLINGS["greedy"], pair=crowded)
    assert at_once(samples) == 3 and texts(samples) == texts(decoded([choose("static")], SAMPLINGS["greedy"]))


def at_once(samples: abc.Sequence[SampleResult]) -> int:
    """The most samples that were decoded at one moment."""
    spans = [(at := s.timing.arrived_ns + s.timing.queued_ns, at + s.prefill_ns + s.decode_ns) for s in samples]
    return max(sum(start <= at < end for start, end in spans) for at, _ in spans)


@pytest.mark.parametrize("load", [ONE, Load(4)], ids=str)
def test_a_text_whose_model_answers_nan_is_left_out_and_the_others_go_on(load: Load) -> None:
    choices = [choice.at(load) for choice in parse_choices("autoregressive,static:3")]
    sound = [prompt for prompt in PROMPTS if "k" not in prompt.text]
    made = Measurement(fragile(), [sound[0], PromptItem("bad", "k"), *sound[1:]], choices, Sampling(max_new_tokens=6))
    answers = [one for group in made.schedule() for stint in stints(group) for one in made.try_stint(stint)]
    broken = [(key.choice.label, key.prompt.id) for key, answer in answers if isinstance(answer, BrokenModel)]
    samples = made.audited([answer for _, answer in answers if isinstance(answer, SampleResult)])
    assert sorted(broken) == sorted((choice.label, "bad") for choice in choices)
    assert Counter(sample.prompt for sample in samples) == {prompt.id: 2 for prompt in sound}
    assert all(sample.audit and sample.audit.outcome == "identical" for sample in samples)
    with pytest.raises(BrokenModel, match="NaN"):
        made.run()


def test_under_load_strategies_take_turns_block_by_block() -> None:
    choices = [choice.at(Load(1)) for choice in parse_choices("autoregressive,static:2")]
    loaded = [choice.at(Load(2)) for choice in choices]
    prompts = [PromptItem(str(n), "a") for n in range(16)]
    groups = list(comparison(choices=[*choices, *loaded], prompts=prompts).schedule())
    assert [len(group) for group in groups] == [2] * 16 + [16, 16]
    assert [[stint[0].choice.label for stint in stints(group)] for group in groups[-2:]] == [
        ["autoregressive @2", "static:2 @2"],
        ["static:2 @2", "autoregressive @2"],
    ]
    assert [len(block) for block in blocks(prompts, Load(4))] == [16]


# Arrivals -------------------------------------------------------------------------------------------------------------


def arrivals(load: Load, until: int) -> list[int]:
    queue = RequestQueue(iter(int, 1), load)
    queue.arrive(until)
    found = []
    while not queue.is_empty:
        found.append(queue.take().at_ns)
    return found


def test_an_open_loop_sends_requests_at_its_rate_whether_they_are_answered_or_not() -> None:
    times = arrivals(Load(rate=50, seed=3), until=100 * 10**9)
    assert len(times) == pytest.approx(5000, rel=0.05)
    assert times == sorted(times)
    assert times == arrivals(Load(rate=50, seed=3), until=100 * 10**9) != arrivals(Load(rate=50, seed=4), 100 * 10**9)


def test_a_user_of_a_closed_loop_asks_again_when_he_has_his_answer() -> None:
    queue = RequestQueue("abcd", Load(2))
    queue.arrive(5)
    assert [queue.take().request, queue.take().request] == ["a", "b"]
    queue.arrive(6)
    assert queue.is_empty and not queue.is_over
    queue.answered()
    queue.arrive(7)
    assert (queue.take().at_ns, queue.is_empty) == (7, True)


@pytest.mark.parametrize(
    ("concurrencies", "rates", "words"),
    [
        ([0], [], "concurrency is 0; it must lie between 1 and 256"),
        ([], [float("nan")], "rate is nan"),
        ([], [0.0], "rate is 0"),
        ([4, 4], [], "The load 4 at once is named twice"),
    ],
)
def test_a_load_that_cannot_be_is_refused(concurrencies: list[int], rates: list[float], words: str) -> None:
    with pytest.raises(BadLoad, match=words):
        loads(concurrencies, rates)


# Figures --------------------------------------------------------------------------------------------------------------


def test_an_objective_is_read_and_a_wrong_one_refused() -> None:
    assert parse_objective("ttft=0.5s, tpot=50ms") == Objective(500, 50)
    for text in ("ttft=5", "speed=3ms", "tpot=0ms", ""):
        with pytest.raises(BadLoad, match="is not an objective"):
            parse_objective(text)


def test_goodput_counts_the_tokens_of_the_requests_that_kept_the_objective() -> None:
    sample, *_ = decoded([choose("static").at(Load(2))], SAMPLINGS["greedy"])
    long = replace(sample, prefill_ns=0, decode_ns=9 * 10**9, timing=Timing(0, 0, 2 * 10**9))
    short = replace(long, tokens=long.tokens[:1], decode_ns=10**9, timing=Timing(0, 0, 10**9))
    found = figures([long, short], Objective(ttft_ms=1500))
    assert [*found["goodput"].values()][:3] == pytest.approx([0.5, 0.0546, 0.9454], abs=1e-4)  # Wilson's interval
    assert found["goodput"]["tokens_per_s_device"] == pytest.approx(2 * 1 / 10)
    assert found["tokens_per_s_device"] == pytest.approx(2 * (long.count + 1) / 10)


@pytest.mark.parametrize(("took", "served"), [([0.5] * 9, 2.0), ([1 + n / 2 for n in range(9)], 1.0)])
def test_an_open_loop_tells_how_many_requests_were_answered_per_second(
    took: abc.Sequence[float], served: float
) -> None:
    """Nine requests arrive at 2/s. If each answer takes half a second longer than the last, 1/s is answered."""
    sample, *_ = decoded([choose("static").at(Load(rate=100))], SAMPLINGS["greedy"])
    samples = [
        replace(sample, load=Load(rate=2), prefill_ns=0, decode_ns=round(seconds * 1e9), timing=Timing(n * 5 * 10**8))
        for n, seconds in enumerate(took)
    ]
    found = figures(samples, Objective())
    assert (found["arrived_per_s"], found["served_per_s"]) == (pytest.approx(2.0), pytest.approx(served))


def test_a_request_that_cannot_begin_gives_its_place_back() -> None:
    world = World.of_tables(12, 7)
    places = CachePool(world.target.model, world.draft.model)
    request = Request(choose("static"), [1], SAMPLINGS["greedy"], 0, Ending(frozenset()))

    def refuse(arrived: Arrived[Request], place: TextCaches, clock: Clock, waited_ns: int) -> Sequence:
        raise BadStrategy("there is no classifier")

    for _ in range(3):
        with pytest.raises(BadStrategy):
            list(serve(RequestQueue([request] * 2, Load(2)), places, 2, refuse, never))
    assert places.take(2) and places.take(2)


def logged(*seconds: float) -> list[PromptItem]:
    return [PromptItem(str(number), "ab", at=1e9 + at) for number, at in enumerate(seconds)]


def test_a_log_has_a_rate_and_a_speed_multiplies_it() -> None:
    arrivals = [prompt.at for prompt in logged(3, 1, 6)]
    once, twice = loads((), (), (2, 1), arrivals)
    assert (once.rate, twice.rate) == (0.4, 0.8)
    assert (str(once), twice.suffix) == ("0.4 requests/s as recorded", " @0.8/s recorded")
    assert once != Load(rate=0.4)


@pytest.mark.parametrize(
    ("arrivals", "speed", "reason"),
    [
        ([], 1, "no recorded arrivals"),
        ([None, 1.0], 1, "1 of 2 prompts have no timestamp"),
        ([5.0, 5.0], 1, "one timestamp, so it has no rate"),
        ([0.0, 1.0], float("nan"), "Played at nan times its speed"),
    ],
)
def test_arrivals_that_cannot_be_replayed_are_refused_in_words(
    arrivals: list[float | None], speed: float, reason: str
) -> None:
    with pytest.raises(BadLoad, match=reason):
        loads((), (), (speed,), arrivals)


def test_requests_of_a_log_arrive_at_its_times_and_in_their_order() -> None:
    prompts = logged(0.2, 0, 0.05)
    [load] = loads((), (), (10,), [prompt.at for prompt in prompts])
    samples = decoded([choose("autoregressive").at(load)], SAMPLINGS["greedy"], prompts=prompts)
    arrived = {sample.prompt: sample.timing.arrived_ns for sample in samples}
    assert arrived == pytest.approx({"0": 20_000_000, "1": 0, "2": 5_000_000}, abs=1000)
    assert sample_from_dict(samples[0].to_dict()).load == load

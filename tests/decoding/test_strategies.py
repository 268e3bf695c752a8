"""The promise of every strategy: the target's own text, or a fair draw from its distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from decoding.backends.registry import Parts
from decoding.choice import Choice, choose
from decoding.core.ending import Ending
from decoding.dice.sampling import Sampling
from decoding.drafting.features import DraftStep, Feature
from decoding.drafting.source import Chain, Source
from decoding.errors import BadPrompt, BrokenModel
from decoding.models.runner import align
from decoding.models.table import TableRunner
from decoding.trace.events import Drafted, Event, Finished, Started, Verified
from tests.decoding.worlds import COPYING, OURS, RANKED, World, label, state_of, tables
from tests.kit.law import LENGTH, VOCAB, drawing, follows, law_of_three

GREEDY = Sampling(max_new_tokens=40)
SHARED = Sampling(temperature=1.0, dice="shared", max_new_tokens=40)
RATIO = Sampling(temperature=1.0, dice="ratio", max_new_tokens=40)


def name(value: object) -> str | None:
    return label(value) or getattr(value, "__name__", None)


def own_text(table: torch.Tensor, prompt: Sequence[int], count: int) -> list[int]:
    text = list(prompt)
    for _ in range(count):
        text.append(int(table[state_of(text)].argmax()))
    return text[len(prompt) :]


@pytest.mark.parametrize("choice", OURS, ids=label)
def test_greedy_text_is_the_targets_own(choice: Choice) -> None:
    for seed in range(5):
        decoded, _ = World.of_tables(12, seed).run(choice, [3, 1], GREEDY)
        assert decoded.tokens == own_text(tables(12, seed)[0], [3, 1], 40)


class Remembers(Chain, Feature):
    """A source that may legally exist: it sees only the draft's side, but it remembers what was thrown away, and
    goes on to a position only if what was drafted there before was token 0. If a position's coin were thrown once
    for all, this would let it choose which coins are used."""

    sees = "confidence"
    lookahead = 4

    def __init__(self) -> None:
        self.before: dict[int, int] = {}

    def of(self, step: DraftStep) -> float:
        position = len(step.text) + len(step.ahead)
        self.before[position] = step.token
        return float(self.before.get(position + 1, 0) != 0)

    def stops(self, seen: float) -> bool:
        return bool(seen)


def remembering(parts: Parts) -> Source:
    return Remembers()


@pytest.mark.parametrize("choice", [*RANKED, *COPYING, remembering], ids=name)
@pytest.mark.parametrize("settings", [{}, {"repetition_penalty": 1.4}, {"top_k": 4, "top_p": 0.9}], ids=str)
def test_shared_dice_give_every_strategy_the_same_text(
    choice: Choice | Callable[[Parts], Source], settings: dict[str, float]
) -> None:
    sampling = Sampling(temperature=0.9, dice="shared", max_new_tokens=40, **settings)  # type: ignore[arg-type]
    for seed in range(4):
        world = World.of_tables(12, seed)
        expected, _ = world.run(choose("autoregressive"), [3, 1], sampling, seed)
        assert world.run(choice, [3, 1], sampling, seed)[0] == expected


@pytest.mark.parametrize("choice", RANKED, ids=label)
def test_a_penalty_sees_only_the_context_so_greedy_text_stays_the_targets(choice: Choice) -> None:
    sampling = Sampling(repetition_penalty=1.5, max_new_tokens=40)
    world = World.of_tables(12, 2)
    assert world.run(choice, [3, 1], sampling)[0] == world.run(choose("autoregressive"), [3, 1], sampling)[0]


def test_draws_of_another_law_are_refused() -> None:
    target, draft = tables(VOCAB, 5, 0.7, 1.2)
    world, sampling = World.of_tables(VOCAB, 5, sharpness=0.7, noise=1.2), Sampling(temperature=1.0, max_new_tokens=3)
    draw = drawing(world, choose("autoregressive"), [0], sampling)
    assert follows(law_of_three(target, 0), draw, 300)
    assert not follows(law_of_three(draft, 0), draw, 300)


@pytest.mark.parametrize(
    ("choice", "dice"),
    # With shared dice every text is that of autoregressive, as a test above says.
    [(choose("autoregressive"), "shared"), *((choice, "ratio") for choice in (*OURS, remembering))],
    ids=name,
)
def test_three_tokens_follow_the_targets_joint_distribution(
    choice: Choice | Callable[[Parts], Source], dice: str
) -> None:
    world = World.of_tables(VOCAB, seed=5, sharpness=0.7, noise=1.2)
    # Longer than what is looked at, so that whole drafts are made and thrown away around it.
    sampling = Sampling(temperature=1.0, dice=dice, max_new_tokens=LENGTH + 2)  # type: ignore[arg-type]
    # What a coin thrown by position does to the rule that remembers shows only in many draws.
    draws = 5000 if choice is remembering else 1500
    law = law_of_three(tables(VOCAB, 5, 0.7, 1.2)[0], 0)
    assert follows(law, drawing(world, choice, [0], sampling), draws)


def rounds(events: Sequence[Event]) -> list[tuple[Drafted | None, Verified]]:
    drafts = {event.round: event for event in events if isinstance(event, Drafted)}
    return [(drafts.get(event.round), event) for event in events if isinstance(event, Verified)]


@pytest.mark.parametrize("choice", OURS, ids=label)
@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_the_trace_adds_up_to_the_text(choice: Choice, sampling: Sampling) -> None:
    decoded, recorder = World.of_tables(12, 7).run(choice, [3, 1], sampling)
    first, *middle, last = recorder.events
    assert isinstance(first, Started) and isinstance(last, Finished)
    assert (first.prompt_tokens, last.new_tokens, last.reason) == (2, 40, decoded.reason)
    text: list[int] = []
    for draft, verdict in rounds(middle):
        if draft:
            assert draft.position == 2 + len(text)
            assert draft.start_ns <= draft.end_ns <= verdict.start_ns
            text += draft.tokens[: verdict.accepted]
            assert (verdict.outcome == "bonus") == (verdict.accepted == len(draft.tokens))
        text.append(verdict.token)
        assert verdict.start_ns <= verdict.end_ns <= last.end_ns
    assert text == decoded.tokens


@pytest.mark.parametrize("choice", RANKED, ids=label)
@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_draft_confidences_are_those_of_a_fresh_runner(choice: Choice, sampling: Sampling) -> None:
    """A draft that missed a token after a full acceptance still gives exact text; only its confidences and its
    acceptance suffer, in silence."""
    world = World.of_tables(12, 7)
    decoded, recorder = world.run(choice, [3, 1], sampling)
    table = tables(12, 7)[1]
    text = [3, 1, *decoded.tokens]
    for draft, _ in rounds(recorder.events):
        if draft:
            before = text[: draft.position]
            for token, confidence in zip(draft.tokens, draft.confidence, strict=True):
                fresh = torch.softmax(table[state_of(before)], -1)[token].item()
                assert confidence == pytest.approx(fresh, abs=1e-5)
                before.append(token)


def replayed_static(matches: Sequence[bool], lookahead: int) -> list[tuple[int, int]]:
    """(drafted, accepted) of every round, counted by hand from where the draft agrees with the target's text."""
    counted, at = [], 0
    while at < len(matches):
        drafted = min(lookahead, len(matches) - at - 1)
        accepted = next((i for i in range(drafted) if not matches[at + i]), drafted)
        counted.append((drafted, accepted))
        at += accepted + 1
    return counted


@pytest.mark.parametrize("lookahead", [1, 2, 5, 9])
def test_pass_counts_are_those_of_a_replay_by_hand(lookahead: int) -> None:
    world = World.of_tables(20, 3, noise=0.5)
    decoded, recorder = world.run(choose("static", {"lookahead": lookahead}), [3, 1], Sampling(max_new_tokens=60))
    table = tables(20, 3, noise=0.5)[1]
    text = [3, 1, *decoded.tokens]
    matches = [int(table[state_of(text[:i])].argmax()) == text[i] for i in range(2, len(text))]
    seen = [(len(d.tokens) if d else 0, v.accepted) for d, v in rounds(recorder.events)]
    assert seen == replayed_static(matches, lookahead)
    assert sum(d.passes for d, _ in rounds(recorder.events) if d) == sum(n for n, _ in seen)


@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_the_oracle_never_drafts_past_a_refusal(sampling: Sampling) -> None:
    _, recorder = World.of_tables(12, 4).run(choose("oracle"), [3, 1], sampling)
    for draft, verdict in rounds(recorder.events):
        if draft and draft.stop == "rule":
            assert verdict.accepted == len(draft.tokens) - 1
        elif draft:
            assert verdict.accepted == len(draft.tokens)


def test_the_threshold_keeps_the_token_it_stops_at() -> None:
    _, recorder = World.of_tables(12, 7).run(choose("threshold", {"threshold": 0.5}), [3, 1], RATIO)
    stopped = [d for d, _ in rounds(recorder.events) if d and d.stop == "rule"]
    assert stopped
    for draft in stopped:
        assert draft.confidence[-1] < 0.5 <= min(draft.confidence[:-1], default=1.0)


@pytest.mark.parametrize("choice", OURS, ids=label)
def test_an_end_token_ends_text_and_draft(choice: Choice) -> None:
    world = World.of_tables(12, 1)
    plain = world.run(choose("autoregressive"), [3, 1], SHARED, seed=2)[0].tokens
    world.end_tokens = frozenset(plain[9:10])
    decoded, recorder = world.run(choice, [3, 1], SHARED, seed=2)
    assert decoded.tokens == plain[: plain.index(plain[9]) + 1]
    assert decoded.reason == "eos"
    for draft, _ in rounds(recorder.events):
        assert draft is None or plain[9] not in draft.tokens[:-1]


@pytest.mark.parametrize("choice", OURS, ids=label)
def test_a_stop_string_ends_every_strategy_at_the_same_token(choice: Choice) -> None:
    world = World.of_tables(12, 1)
    plain = world.run(choose("autoregressive"), [3, 1], SHARED, seed=2)[0].tokens

    def spell(tokens: Sequence[int]) -> str:
        return "".join("abcdefghijkl"[token] for token in tokens)

    ending = Ending((), (spell(plain[6:9]),), spell)
    decoded, _ = world.run(choice, [3, 1], SHARED, 2, ending)
    assert decoded.reason == "stop"
    assert decoded.tokens == plain[: spell(plain).index(spell(plain[6:9])) + 3]


@pytest.mark.parametrize("choice", OURS, ids=label)
@pytest.mark.parametrize(("contexts", "count", "reason"), [((20, 100), 18, "context"), ((100, 9), 30, "length")])
def test_neither_models_context_is_overrun(choice: Choice, contexts: tuple[int, int], count: int, reason: str) -> None:
    """The target's context ends the text; where only the draft's is full, the target goes on alone."""
    world = World.of_tables(12, 7)
    world.target.context, world.draft.context = contexts
    decoded, _ = world.run(choice, [3, 1], Sampling(max_new_tokens=30))
    assert (len(decoded.tokens), decoded.reason) == (count, reason)
    assert decoded.tokens == own_text(tables(12, 7)[0], [3, 1], count)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("choice", OURS, ids=label)
def test_no_more_is_drafted_than_can_still_be_used(choice: Choice, count: int) -> None:
    decoded, recorder = World.of_tables(12, 7).run(choice, [3], Sampling(max_new_tokens=count))
    assert len(decoded.tokens) == count
    for draft, _ in rounds(recorder.events):
        assert draft is None or draft.position + len(draft.tokens) < 1 + count


def test_models_that_differ_by_padding_share_the_unpadded_part() -> None:
    target, _ = tables(12, 7)
    world = World.of_tables(12, 7)
    world.target = TableRunner(torch.nn.functional.pad(target, (0, 4), value=50.0), state_of=state_of)
    decoded, _ = world.run(choose("static"), [3, 1], GREEDY)
    assert decoded.tokens == own_text(target, [3, 1], 40)


def test_a_prompt_that_is_empty_or_leaves_no_room_is_refused() -> None:
    world = World.of_tables(12, 7, context=8)
    with pytest.raises(BadPrompt, match="empty"):
        world.run(choose("static"), [], GREEDY)
    with pytest.raises(BadPrompt, match="8 tokens and the target holds 8"):
        world.run(choose("static"), [1] * 8, GREEDY)


@pytest.mark.parametrize("model", ["target", "draft"])
@pytest.mark.parametrize("sampling", [GREEDY, SHARED, RATIO], ids=lambda s: f"{s.temperature:g}-{s.dice}")
def test_a_model_that_answers_with_nan_is_refused_in_words(model: str, sampling: Sampling) -> None:
    world = World.of_tables(12, 7)
    setattr(world, model, TableRunner(torch.full((12, 12), torch.nan, dtype=torch.float64)))
    with pytest.raises(BrokenModel, match="NaN"):
        world.run(choose("static"), [3, 1], sampling)


def test_align_compares_tokens_not_lengths() -> None:
    """A runner that sat out a round can hold a text of the right length that is not ours."""
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3, 4])
    assert list(align(world.draft, [1, 2, 9, 4, 5])) == [9, 4, 5]
    assert world.draft.tokens == [1, 2]


def test_align_feeds_again_what_logits_are_needed_of() -> None:
    world = World.of_tables(12, 7)
    world.draft.extend([1, 2, 3])
    assert list(align(world.draft, [1, 2, 3], need=2)) == [2, 3]

"""The simulator counts what a live run in turn does, and its clock obeys the theory."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.costs import Costs
from decoding.dice import dice_for
from decoding.disco.classifier import Classifier
from decoding.disco.recording import record
from decoding.disco.rules import estimates, rounds_from_everywhere
from decoding.events import Anticipated, Drafted, Event, Verified
from decoding.replay import Record
from decoding.spec import Choice, Sampling, choose
from decoding.ssd.plans import plan_for
from decoding.ssd.prices import Prices
from decoding.ssd.recording import follow
from decoding.ssd.settings import Settings
from decoding.ssd.simulated import ANYTIME, BESIDE, IN_TURN, Placement, Plan, Simulated
from decoding.ssd.simulator import simulate
from decoding.ssd.theory import Speculation, tokens_per_round
from decoding.ssd.track import Track
from tests.decoding import models
from tests.decoding.worlds import World, some_classifier

NEW = 40
VOCAB = 14
PROMPT = [3, 1]
SAMPLINGS = [Sampling(max_new_tokens=NEW), Sampling(temperature=1.0, max_new_tokens=NEW, repetition_penalty=1.2)]
ids = lambda sampling: "greedy" if sampling.is_greedy else "shared"  # noqa: E731

EVEN = Prices("made up", Costs((0.0, 1.0, 1.0), 0.1, 0.0, 0.0, 0.0), (0.0, 0.1), opening=0.1)


def tracked(world: World, sampling: Sampling, seed: int, classifier: Classifier | None = None, cap: int = 8) -> Track:
    """The text that any strategy writes in this world, and the draft along it."""
    decoded, _ = world.run(choose("autoregressive"), PROMPT, sampling, seed)
    vocab = min(world.target.vocab_size, world.draft.vocab_size)
    with torch.inference_mode():
        recording = record(
            "p",
            PROMPT,
            decoded.tokens,
            draft=world.draft,
            dice=dice_for(sampling, vocab, seed),
            end_tokens=world.end_tokens,
            max_new_tokens=sampling.max_new_tokens,
            tail_depth=cap + 1,
        )
    said = estimates(classifier, rounds_from_everywhere(recording, cap + 1)).tolist() if classifier else ()
    return follow(
        PROMPT,
        decoded.tokens,
        recording.record,
        draft=world.draft,
        dice=dice_for(sampling, vocab, seed),
        room=sampling.max_new_tokens,
        end_tokens=world.end_tokens,
        branches=20,
        estimates=said,
    )


NAMES = ("rounds", "hits", "misses", "drafted", "accepted", "draft_passes", "predicted_hits", "steps")


def counted(events: Sequence[Event], found: Simulated, ends: Sequence[int] = ()) -> list[float]:
    """A live run's figures. Where texts end, all branches of a round may have, off the text where no simulation can
    see; then it makes more steps."""
    drafts = [event for event in events if isinstance(event, Drafted)]
    prepared = [event for event in events if isinstance(event, Anticipated)]
    steps = sum(event.passes for event in prepared)
    return [
        sum(isinstance(event, Verified) for event in events),
        sum(draft.source == "hit" for draft in drafts),
        sum(draft.source == "miss" for draft in drafts),
        sum(len(draft.tokens) for draft in drafts),
        sum(event.accepted for event in events if isinstance(event, Verified)),
        sum(draft.passes for draft in drafts),
        sum(event.predicted_hit for event in prepared),
        max(steps, found.steps) if ends else steps,
    ]


def of(found: Simulated) -> list[float]:
    return [getattr(found, name) for name in NAMES]


def choice_of(settings: Settings) -> Choice:
    return choose("ssd", {**dataclasses.asdict(settings), "placement": "in-turn"})


def even(lookahead: int, branches: int) -> Plan:
    return plan_for(Settings(lookahead, branches, "uniform", "neural"), VOCAB)


LIVE = {
    "uniform": Settings(4, 12, "uniform", "neural"),
    "few": Settings(3, 3, "uniform", "neural"),
    "short": Settings(1, 2, "geometric", "neural"),
    "deep": Settings(6, 20, "geometric", "neural"),
    "measured": Settings(4, 8, "measured", "neural"),
    "lists": Settings(2, 6, "3/2/1+6/0/0", "neural"),
    "ngram": Settings(4, 10, "geometric", "ngram"),
    "random": Settings(3, 9, "measured", "random"),
}


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
@pytest.mark.parametrize("ends", [(), (5, 9)], ids=["without-end", "with-end"])
@pytest.mark.parametrize("name", LIVE)
def test_a_simulation_in_turn_counts_exactly_what_a_live_run_does(
    sampling: Sampling, ends: Sequence[int], name: str
) -> None:
    settings = LIVE[name]
    for seed in range(6):
        world = World.of_tables(VOCAB, seed, noise=0.9)
        world.end_tokens = frozenset(ends)
        _, live = world.run(choice_of(settings), PROMPT, sampling, seed)
        found = simulate([tracked(world, sampling, seed)], plan_for(settings, VOCAB), EVEN, IN_TURN)
        assert of(found) == pytest.approx(counted(live.events, found, ends))


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
@pytest.mark.parametrize("ends", [(), (5, 9)], ids=["without-end", "with-end"])
def test_with_a_classifier_it_comes_near(sampling: Sampling, ends: Sequence[int]) -> None:
    """What a refused draft would have echoed is not recorded, so a branch now and then goes elsewhere."""
    classifier, cap = some_classifier(), 6
    settings = Settings(cap, 9, backup="neural")
    choice = choose("ssd-disco", {"cap": cap, "branches": 9, "placement": "in-turn"})
    live, simulated = [0.0] * len(NAMES), [0.0] * len(NAMES)
    for seed in range(6):
        world = World.of_tables(VOCAB, seed, noise=0.9)
        world.end_tokens = frozenset(ends)
        _, events = world.run(choice, PROMPT, sampling, seed)
        track = tracked(world, sampling, seed, classifier=classifier, cap=cap)
        found = simulate([track], plan_for(settings, VOCAB, classifier), EVEN, IN_TURN)
        live = [a + b for a, b in zip(live, counted(events.events, found, (0,)), strict=True)]
        simulated = [a + b for a, b in zip(simulated, of(found), strict=True)]
    assert simulated == pytest.approx(live, rel=0.1, abs=1)


def test_so_it_does_for_a_small_real_model(tmp_path: Path) -> None:
    target = models.save(tmp_path / "target", "llama", seed=1, **models.LLAMA)
    draft = models.save(tmp_path / "draft", "llama", seed=1, **models.LLAMA)
    weights = load_file(draft / "model.safetensors")
    dice = torch.Generator().manual_seed(2)
    shaken = {name: w + 0.03 * torch.randn(w.shape, generator=dice) for name, w in weights.items()}
    save_file(shaken, draft / "model.safetensors", {"format": "pt"})
    world = World(models.fast_runner(target), models.fast_runner(draft))
    for sampling in SAMPLINGS:
        settings = LIVE["uniform"]
        _, live = world.run(choice_of(settings), PROMPT, sampling, seed=4)
        found = simulate([tracked(world, sampling, 4)], plan_for(settings, 97), EVEN, IN_TURN)
        assert of(found) == pytest.approx(counted(live.events, found))
        assert found.hits and found.misses


def thrown(acceptance: float, guessed: float, length: int = 4000) -> Track:
    """A text whose matches and guesses were thrown by dice: token 0 is what the draft likes best, 1 what it guesses
    next, 2 what nobody expects."""
    dice = random.Random(5)
    matches = [dice.random() < acceptance for _ in range(length)]
    text = tuple(0 if match else 1 if dice.random() < guessed else 2 for match in matches)
    return Track((), text, ((0, 1),) * length, Record.of(matches), length)


def prices(*, draft: float, step: float, opening: float = 0.0, **more: float) -> Prices:
    """Every verification takes a second, however many rows it has."""
    return Prices("made up", Costs((0.0, 1.0, 1.0), draft, 0.0, 0.0, 0.0), (0.0, step), opening, **more)


@pytest.mark.parametrize("placement", [BESIDE, ANYTIME], ids=lambda placement: placement.name)
@pytest.mark.parametrize("guessed", [0.0, 0.7, 1.0])
def test_time_beside_each_other_is_what_the_theorem_says(placement: Placement, guessed: float) -> None:
    """Preparing fits into a verification, so that placement with and without looking up are the same."""
    track = thrown(0.75, guessed)
    found = simulate([track], even(4, 5), prices(draft=0.15, step=0.2, opening=0.1), placement)
    tokens = found.tokens / found.rounds
    theory = Speculation(found.hits / found.rounds, tokens, tokens, preparing=0.9, backup=0.6)
    assert found.tokens_per_s == pytest.approx(theory.speedup(), rel=0.005)
    assert tokens == pytest.approx(tokens_per_round(0.75, 4), rel=0.03)
    assert found.hidden_share == pytest.approx(0.9 / (0.9 + 0.6 * (1 - theory.hit_rate)), rel=0.005)


def test_a_draft_that_prepares_too_long_is_waited_for_unless_it_looks_up() -> None:
    track, slow = thrown(0.75, 1.0), prices(draft=0.15, step=0.4, opening=0.1)
    late, early = (simulate([track], even(4, 5), slow, placement) for placement in (BESIDE, ANYTIME))
    misses = late.misses / late.rounds  # found out when all of the tree is done
    assert late.seconds / late.rounds == pytest.approx(1.7 + 0.6 * misses, rel=0.005)
    hits = early.hits / early.rounds  # 0.1 + 3 x 0.4 is the first end after a second; the fourth token is worth 0.15
    assert early.seconds / early.rounds == pytest.approx(1.3 + 0.15 * hits + 0.6 * (1 - hits), rel=0.005)
    assert early.tokens_per_s > late.tokens_per_s


def test_in_turn_every_second_is_paid_for_by_one_of_the_two() -> None:
    found = simulate([thrown(0.6, 0.5)], even(3, 8), prices(draft=0.1, step=0.2, opening=0.3, answer=0.01), IN_TURN)
    assert found.hidden == 0
    assert found.seconds == pytest.approx(found.rounds * 1.0 + found.waiting)
    paid = 0.1 * found.draft_passes + 0.01 * found.hits
    assert found.drafting == pytest.approx(paid + 0.2 * found.steps + 0.1 * (found.rounds - 1), rel=0.01)
    assert found.label == "simulated"


def test_one_round_after_another_on_the_clock() -> None:
    """Two tokens drafted (0.2), sent (0.05), verified (1): both are accepted, and what follows was guessed. Opening
    and two steps took 0.7 of that second, so the answer needs a message there, 0.01, and a message back. The third
    token that the draft would have said is refused and none of its guesses is right: a miss, drafted anew."""
    matches = [True, True, True, False, True, True]
    text = (0, 0, 0, 2, 0, 0)
    track = Track((), text, ((0, 1),) * 6, Record.of(matches, 20), room=20)
    price = prices(draft=0.1, step=0.3, opening=0.1, answer=0.01, transport=0.05)
    found = simulate([track], even(2, 3), price, BESIDE)
    assert (found.rounds, found.hits, found.misses, found.draft_passes) == (3, 1, 1, 4)
    assert found.seconds == pytest.approx((0.05 + 0.2 + 0.05 + 1) + (0.05 + 0.01 + 0.05 + 1) + (0.05 + 0.2 + 0.05 + 1))
    assert found.waiting == pytest.approx(found.seconds - 3)
    assert found.drafting == pytest.approx(0.2 + 0.7 + 0.01 + 0.7 + 0.2)
    assert found.hidden == pytest.approx(0.65 + 0.65)  # the message's way is the draft's head start

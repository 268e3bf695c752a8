"""Recordings of texts in worlds of tables, for replays, classifiers and simulators."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from decoding.choice import Choice, choose
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.disco.recording import Recording, record
from decoding.drafting.records import RecordedText
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.papers.chances import outcomes_of
from decoding.papers.outcomes import Outcomes
from decoding.replay.planning import RecordedSet
from decoding.trace.events import Drafted, Event, Verified
from tests.kit.worlds import World

PROMPT = [3, 1]
CAP = 8
NEW = 40
SAMPLINGS = [Sampling(max_new_tokens=NEW), Sampling(temperature=1.0, max_new_tokens=NEW, repetition_penalty=1.2)]


def world(seed: int = 3, ends: Sequence[int] = ()) -> World:
    """Tables of 14 tokens."""
    made = World.of_tables(14, seed, noise=0.9)
    made.end_tokens = frozenset(ends)
    return made


def recorded(
    made: World, sampling: Sampling, seed: int = 0, depth: int = CAP, prompt: Sequence[int] = PROMPT
) -> Recording:
    """Record the text that any strategy writes in this world, or under ratio dice one that drafts every token."""
    is_fixed = sampling.fixes_the_text
    by = choose("autoregressive") if is_fixed else choose("static", {"lookahead": NEW})
    decoded, _ = made.run(by, prompt, sampling, seed)
    with torch.inference_mode():
        return record(
            "p",
            prompt,
            decoded.tokens,
            draft=made.draft,
            dice=dice_for(sampling, made.vocab, seed),
            end_tokens=made.end_tokens,
            max_new_tokens=sampling.max_new_tokens,
            tail_depth=depth,
            judge=None if is_fixed else made.target,
        )


def judged(events: Sequence[Event]) -> list[float]:
    """Tell of each drafted token that a live run judged whether it was accepted."""
    drafts, found = {event.round: event for event in events if isinstance(event, Drafted)}, list[float]()
    for event in events:
        if isinstance(event, Verified) and event.round in drafts:
            found += [1.0] * event.accepted + [0.0] * (event.accepted < len(drafts[event.round].tokens))
    return found


def many(sampling: Sampling, seeds: range) -> list[Recording]:
    """Record a text for each seed, without tails."""
    made = world()
    return [recorded(made, sampling, seed, depth=0) for seed in seeds]


def tracked(
    made: World, sampling: Sampling, seed: int, classifier: DraftClassifier | None = None, cap: int = CAP
) -> RecordedText:
    """Return the text that any strategy writes in this world, and the draft along it."""
    [text] = RecordedSet([recorded(made, sampling, seed, depth=cap + 1)]).texts(classifier)
    return text


LIVE = {
    "uniform": SpeculatorSettings(4, 12, "uniform", "neural"),
    "few": SpeculatorSettings(3, 3, "uniform", "neural"),
    "short": SpeculatorSettings(1, 2, "geometric", "neural"),
    "deep": SpeculatorSettings(6, 20, "geometric", "neural"),
    "measured": SpeculatorSettings(4, 8, "measured", "neural"),
    "lists": SpeculatorSettings(2, 6, "3/2/1+6/0/0", "neural"),
    "ngram": SpeculatorSettings(4, 10, "geometric", "ngram"),
    "random": SpeculatorSettings(3, 9, "measured", "random"),
    "copy": SpeculatorSettings(4, 10, "geometric", "copy"),
}


def lived(world: World, choice: Choice, sampling: Sampling, seed: int) -> tuple[list[int], Sequence[Event]]:
    """Decode, and return tokens and events."""
    decoded, recorder = world.run(choice, PROMPT, sampling, seed)
    return decoded.tokens, recorder.events


def expected(world: World, text: Sequence[int], sampling: Sampling) -> Outcomes:
    """Outcomes of a text as theory has them."""
    return outcomes_of(world.target, world.draft, PROMPT, text, sampling)[1.0]


def tokens_per_round(acceptance: float, lookahead: int) -> float:
    """Mean tokens of a round if every drafted token has the same acceptance: a geometric series."""
    return sum(acceptance**k for k in range(lookahead + 1))

"""Replay at load against the loop: the same requests, admitted as a comparison admits them, round by round."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from decoding.backends.registry import Parts, build
from decoding.choice import Choice, choose, parse_choices
from decoding.core.batch_state import BatchState
from decoding.core.drafter import Drafter
from decoding.core.load import Load
from decoding.core.loop import Batch
from decoding.core.sequence import Sequence as LiveText
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import Recording, record
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Source
from decoding.prices.fit import costs_from
from decoding.replay.at_load import PlayedRun, play, stream
from decoding.replay.planning import RecordedSet
from decoding.replay.what_if.ahead import ssd_tracks_of, stood
from decoding.replay.what_if.places import TracedText
from decoding.replay.what_if.simulation import RecordedComparison, Simulation, simulate
from decoding.trace.events import Drafted, Event, Recorder, Verified, to_dict
from tests.kit.copies import chain, chained
from tests.kit.loads import CHEAP
from tests.kit.recordings import CAP
from tests.kit.worlds import World

LENGTH, USERS = 40, 3
SAMPLINGS = [Sampling(max_new_tokens=LENGTH), Sampling(temperature=0.9, max_new_tokens=LENGTH)]
PROMPTS = [[3, number, 1] * (1 + number % 3) for number in range(5)]

Rounds = list[tuple[int, int, str]]  # tokens that were judged, how many of them were accepted, hit or miss
Make = Callable[[Parts], Drafter]


def world(*ends: int) -> World:
    made = World.of_tables(6, 3)
    made.end_tokens = frozenset(ends)
    return made


def recorded(made: World, number: int, prompt: Sequence[int], sampling: Sampling) -> Recording:
    decoded, _ = made.run(choose("autoregressive"), prompt, sampling, number)
    dice = dice_for(sampling, made.vocab, number)
    with torch.inference_mode():
        return record(
            str(number), prompt, decoded.tokens, draft=made.draft, dice=dice, end_tokens=made.end_tokens,
            max_new_tokens=LENGTH, tail_depth=CAP,
        )  # fmt: skip


def requests(made: World, sampling: Sampling) -> list[RecordedText]:
    study = RecordedSet([recorded(made, number, prompt, sampling) for number, prompt in enumerate(PROMPTS)])
    return study.texts(study.shown("confidence"))


def live(made: World, make: Make, sampling: Sampling, asked: Sequence[RecordedText]) -> list[Rounds]:
    """Decode these texts with several users. As in a comparison, requests that do not count fill the machine."""
    batch, growing, done = Batch(BatchState(CHEAP)), dict[LiveText, int | None](), dict[int, Rounds]()
    queue, numbers = deque(stream(asked, USERS)), {id(request): number for number, request in enumerate(asked)}
    with torch.inference_mode():
        while len(done) < len(asked):
            while len(growing) < USERS:
                request, end, counts = queue.popleft()
                cut = dataclasses.replace(sampling, max_new_tokens=end if end < request.tokens else LENGTH)
                text = _begun(made, make, cut, numbers[id(request)])
                growing[text] = counts
                batch.admit(text)
                if len(queue) < USERS:
                    queue.append((request, request.tokens, None))
            for text in batch.step():
                if (counts := growing.pop(text)) is not None:
                    done[counts] = rounds_of(text.sink.events)  # type: ignore[attr-defined]
    return [done[number] for number in range(len(asked))]


def _begun(made: World, make: Make, sampling: Sampling, number: int) -> LiveText:
    own = dataclasses.replace(made, target=made.target.model.new_runner(), draft=made.draft.model.new_runner())
    return own.sequence(make, PROMPTS[number], sampling, number, None, Recorder())


def rounds_of(events: Sequence[Event]) -> Rounds:
    drafts = {event.round: event for event in events if isinstance(event, Drafted)}
    verdicts = [(event, drafts.get(event.round)) for event in events if isinstance(event, Verified)]
    return [
        (draft.verified if draft else 0, event.accepted, _hit(draft.source if draft else ""))
        for event, draft in verdicts
    ]


def _hit(source: str) -> str:
    return source if source in ("hit", "miss") else ""


def played(source: Callable[[], Source], asked: Sequence[RecordedText]) -> list[Rounds]:
    return rounds_in(play(asked, source, CHEAP, USERS))


def rounds_in(run: PlayedRun) -> list[Rounds]:
    return [[(one.drafted, one.accepted, _hit(one.source)) for one in request.rounds] for request in run.requests]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "shared dice"])
def test_every_round_of_a_mix_of_copies_and_drafts_is_the_live_one(sampling: Sampling) -> None:
    made = world()
    asked = requests(made, sampling)
    found = played(chain, asked)
    assert found == live(made, chained, sampling, asked)
    assert {drafted for rounds in found for drafted, *_ in rounds} >= {2, 4}, "the model alone, and after a copy"


KNOWN = parse_choices("static:12,tree:c/cccc,ssd:4,branches=40,backup=neural,placement=in-turn")  # what ran
ASKED = parse_choices(
    "static:3,lookup:4,suffix:0.05,memory=true,ssd:3,branches=7,fanout=uniform,backup=neural,placement=in-turn"
)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "shared dice"])
@pytest.mark.parametrize("choice", ASKED, ids=lambda choice: choice.label)
def test_what_if_plays_every_round_of_a_batch_from_traces_of_one_user(choice: Choice, sampling: Sampling) -> None:
    found, ran = asked_and_run(choice, sampling)
    assert rounds_in(found.refused) == rounds_in(found.accepted) == ran


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "shared dice"])
def test_where_traces_leave_a_trees_path_open_the_live_batch_lies_between_both_cases(sampling: Sampling) -> None:
    found, ran = asked_and_run(choose("tree", {"shape": "3/21/1"}), sampling)
    most, least = (sum(map(len, rounds_in(run))) for run in (found.refused, found.accepted))
    assert most >= sum(map(len, ran)) >= least


def asked_and_run(choice: Choice, sampling: Sampling) -> tuple[Simulation, list[Rounds]]:
    """What-if's answer from traces of one user, and the rounds of a live batch."""
    made, memory = World.of_tables(12, 3, noise=0.5), dict[str, Any]()
    asked = [
        RecordedText(each.record, each.prompt_tokens)
        for each in (recorded(made, number, prompt, sampling) for number, prompt in enumerate(PROMPTS))
    ]
    make = lambda parts: build(choice, dataclasses.replace(parts, memory=memory))  # noqa: E731
    found = simulate(traced(made, sampling), choice.at(Load(USERS)), USERS)
    return found, live(made, make, sampling, asked)


def traced(made: World, sampling: Sampling) -> RecordedComparison:
    """Facts about these texts from traces of one user."""
    texts, priced, ahead = [], [], []
    for number, prompt in enumerate(PROMPTS):
        runs = [made.run(choice, prompt, sampling, number) for choice in (choose("autoregressive"), *KNOWN)]
        tokens = runs[0][0].tokens
        places = TracedText.of(len(tokens), LENGTH, False, tokens=tokens)
        places.prompt_tokens = prompt
        for _, recorder in runs:
            places.learn(to_dict(event, seq) for seq, event in enumerate(recorder.events))
        priced += [recorder.events for _, recorder in runs[:2]]
        ahead.append(runs[3][1].events)
        texts.append((tokens, places, stood(ahead[-1])))
    costs = costs_from(priced)
    found = ssd_tracks_of(texts, priced, ahead, lambda tokens: tokens * 1e-5, is_beside=False)
    return RecordedComparison([places for _, places, _ in texts], len(texts), costs, {1: costs.widest}, ahead=found)

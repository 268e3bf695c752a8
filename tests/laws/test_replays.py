"""The law of replay: along a recorded text, every round is the live one, alone and among others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import strategies as st

from decoding.backends.registry import Parts
from decoding.choice import Choice, choose, parse_choices
from decoding.core.load import Load
from decoding.core.loop import Batch
from decoding.core.sequence import Drafter
from decoding.core.sequence import Sequence as Text
from decoding.disco.copies import judge_of
from decoding.disco.recording import Recording
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Given, Source
from decoding.prices.fit import costs_from, counted
from decoding.replay.at_load import PlayedRun as Played
from decoding.replay.at_load import play, stream
from decoding.replay.planning import RecordedSet
from decoding.replay.player import replay
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.what_if.places import TracedText
from decoding.replay.what_if.simulation import AheadPrices, RecordedComparison, simulate
from decoding.ssd.speculator.speculator import plan_of
from decoding.strategies import STRATEGIES
from decoding.trace.events import Drafted, Verified
from tests.kit import recordings
from tests.kit.copies import chain, chained
from tests.kit.worlds import JOINT, some_classifier
from tests.laws.cases import OURS, Case, Run, choices, events_of
from tests.laws.drawing import Drawing

DEEPEST = 13  # tokens along which a draft's refused continuations are recorded
# Tokens that were judged, how many of them were accepted, passes of the draft model, and hit or miss. What prepares
# ahead counts the passes that prepare, too, and these may end earlier where no simulation can see.
Rounds = list[tuple[int, int, int, str]]
# What mixes copies and drafts goes by times. What prepares ahead by a classifier's estimates heard echoes of refused
# drafts, which no recording holds.
TOLD = [
    slug
    for slug, spec in STRATEGIES.items()
    if slug in OURS
    and not (spec.usual_source.copies and spec.needs_draft)
    and not (spec.prepares_ahead and spec.may_ask)
]


@st.composite
def recorded_cases(draw: st.DrawFn, slug: str) -> Case:
    choice = draw(choices(slug, is_timed=False).filter(lambda choice: not choice.needs_likelihoods))
    if choice.spec.prepares_ahead:
        choice = choose(slug, {**choice.params, "placement": "in-turn"})
    vocab = draw(st.sampled_from([12, 6]))
    tokens = st.integers(0, vocab - 1)
    return Case(
        choice.label,
        draw(st.sampled_from(["greedy", "shared"])),
        penalty=draw(st.sampled_from([1.0, 1.0, 1.2])),
        new=draw(st.integers(8, 40)),
        vocab=vocab,
        seed=draw(st.integers(0, 99)),
        noise=draw(st.sampled_from([0.8, 0.4])),
        # A live tree learns from what it drafts behind an end, too.
        ends=() if choice.spec.usual_source.branches else draw(st.lists(tokens, max_size=1).map(tuple)),
        users=draw(st.integers(1, 3)),
        prompts=tuple(draw(st.lists(st.lists(tokens, min_size=1, max_size=9).map(tuple), min_size=2, max_size=5))),
    )


@pytest.mark.parametrize("slug", TOLD)
def test_every_round_of_a_replay_is_the_live_one(request: pytest.FixtureRequest, slug: str) -> None:
    Drawing(request).holds(is_the_live_one, recorded_cases(slug), 8)


def is_the_live_one(case: Case) -> None:
    recordings = recorded(case)
    asked, played = (ahead if case.choice.spec.prepares_ahead else sourced)(case, recordings)
    assert rounds_in(played) == live(case, asked)
    if not case.choice.spec.prepares_ahead and not case.choice.spec.usual_source.prices_rounds:
        counts = replay(asked, source_of(case), JOINT)
        assert counts.parts == [counted(events_of(text)) for text in Run(case).decode(1)]


SHARED = Case(
    "static:3", "shared", new=40, vocab=12, seed=3, noise=0.5, users=3,
    prompts=tuple((3, number, 1) * (1 + number % 3) for number in range(5)),
)  # fmt: skip


@pytest.mark.parametrize("dice", ["greedy", "shared"])
def test_every_round_of_a_mix_of_copies_and_drafts_is_the_live_one(dice: str) -> None:
    case = SHARED.but(dice=dice, vocab=6)
    study = RecordedSet(recorded(case))
    asked = study.texts()
    found = rounds_in(play(asked, chain, JOINT, case.users))
    assert found == live(case, asked, chained)
    assert {drafted for rounds in found for drafted, *_ in rounds} >= {2, 4}, "the model alone, and after a copy"


KNOWN = "static:12,tree:c/cccc,ssd:4,branches=40,backup=neural,placement=in-turn"  # what ran
ASKED = (
    "static:3,lookup:4,suffix:0.05,memory=true,ssd:3,branches=7,fanout=uniform,backup=neural,placement=in-turn,"
    "ssd:3,branches=4,backup=copy,placement=in-turn,ssd:3,branches=4,backup=ngram,placement=in-turn,"
    "tree:3/21/1"
)


@pytest.mark.parametrize("choice", parse_choices(ASKED), ids=lambda choice: choice.label)
def test_what_if_plays_the_rounds_of_a_live_batch_from_traces_of_one_user(choice: Choice) -> None:
    """Hold a live batch between both cases where traces leave a tree's path open."""
    case = SHARED.but(label=choice.label)
    found = simulate(traced(case), choice.at(Load(case.users)), case.users)
    least, most = rounds_in(found.accepted), rounds_in(found.refused)
    ran = live(case, [RecordedText(each.record, each.prompt_tokens) for each in recorded(case)])
    if choice.spec.usual_source.branches:
        assert sum(map(len, least)) <= sum(map(len, ran)) <= sum(map(len, most))
    else:
        assert least == most == ran


def traced(case: Case) -> RecordedComparison:
    """Facts about these texts from traces of one user."""
    ran = [Run(case.but(label=label)).decode(1) for label in ("autoregressive", *labels(KNOWN))]
    texts = list[TracedText]()
    for prompt, own in zip(case.prompts, zip(*ran, strict=True), strict=True):
        tokens = own[0].decoded.tokens
        places = TracedText.of(len(tokens), case.new, False, tokens=tokens)
        places.prompt_tokens = prompt
        for text in own:
            places.learn(events_of(text), has_branches=text is own[3])
        texts.append(places)
    priced, ahead = ([events_of(text) for texts in runs for text in texts] for runs in (ran[:2], ran[3:]))
    costs = costs_from(priced)
    found = AheadPrices.of(priced, ahead, is_beside=False)
    return RecordedComparison(texts, len(texts), costs, {1: costs.widest}, ahead=found)


def labels(spelled: str) -> list[str]:
    return [choice.label for choice in parse_choices(spelled)]


def recorded(case: Case) -> list[Recording]:
    world = case.world()
    return [
        recordings.recorded(world, case.sampling, case.seed + number, DEEPEST, prompt)
        for number, prompt in enumerate(case.prompts)
    ]


def sourced(case: Case, recordings: Sequence[Recording]) -> tuple[Sequence[RecordedText], Played]:
    asked = RecordedSet([*recordings]).texts(some_classifier())
    return asked, play(asked, source_of(case), JOINT, case.users)


def source_of(case: Case) -> Callable[[], Source]:
    """Return what makes the source of each text of a run."""
    choice, classifier = case.choice, some_classifier()
    given = Given({}, classifier, judge_of(classifier) if choice.judges_copies else None)
    return lambda: choice.source(given)


def ahead(case: Case, recordings: Sequence[Recording]) -> tuple[Sequence[RecordedText], Played]:
    asked = RecordedSet([*recordings]).texts()
    return asked, simulate_together(asked, plan_of(case.choice, case.vocab, None), JOINT, case.users)


def live(case: Case, asked: Sequence[RecordedText], make: Callable[[Parts], Drafter] | None = None) -> list[Rounds]:
    """Decode these texts with several users. As in a comparison, requests that do not count fill the machine."""
    run, growing, done = Run(case, make), dict[Text, int | None](), dict[int, Rounds]()
    batch = Batch(run.state)
    queue, numbers = deque(stream(asked, case.users)), {id(request): number for number, request in enumerate(asked)}
    with torch.inference_mode():
        while len(done) < len(asked):
            while len(growing) < case.users:
                request, end, counts = queue.popleft()
                text = run.begin(numbers[id(request)], end if end < request.tokens else case.new)
                growing[text] = counts
                batch.admit(text)
                if len(queue) < case.users:
                    queue.append((request, request.tokens, None))
            for text in batch.play_round():
                if (counts := growing.pop(text)) is not None:
                    done[counts] = rounds_of(text)
    return [done[number] for number in range(len(asked))]


def rounds_of(text: Text) -> Rounds:
    drafts = {event.round: event for event in events_of(text) if isinstance(event, Drafted)}
    found = Rounds()
    for verdict in events_of(text):
        if isinstance(verdict, Verified):
            draft = drafts.get(verdict.round)
            shown = (draft.verified, draft.passes, draft.source) if draft else (0, 0, "")
            found.append(_round(verdict.accepted, *shown))
    return found


def rounds_in(played: Played) -> list[Rounds]:
    return [
        [_round(one.accepted, one.drafted, one.passes, one.origin) for one in request.rounds]
        for request in played.requests
    ]


def _round(accepted: int, judged: int, passes: int, source: str) -> tuple[int, int, int, str]:
    if source in ("hit", "miss"):
        return judged, accepted, 0, source
    return judged, accepted, passes if judged else 0, ""  # a draft of which nothing is kept has no event

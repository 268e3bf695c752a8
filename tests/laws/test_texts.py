"""Laws of every text: it is the target's own, its events tell it whole, and no neighbour changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pytest
import torch
from hypothesis import strategies as st

from decoding.choice import Choice, choose
from decoding.dice.dice import dice_for
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.strategies import STRATEGIES
from decoding.trace.events import Anticipated, Drafted, Event, Finished, Started, Verified, from_dict, to_dict
from tests.kit.beside import ANYWHERE, table_draft
from tests.laws.cases import BESIDE, OURS, Case, Run, cases, events_of
from tests.laws.drawing import Drawing

VOCAB, SEED = 12, 7  # of the tables whose draft is in another process


@pytest.mark.parametrize("slug", OURS)
def test_every_text_is_the_targets_and_its_events_tell_it_whole(request: pytest.FixtureRequest, slug: str) -> None:
    Drawing(request).holds(is_exact_and_told, cases(slug), 20)


@pytest.mark.parametrize("slug", [slug for slug in OURS if slug != "schedule"])  # it goes by the number of texts
def test_no_neighbour_changes_a_text_under_ratio_dice(request: pytest.FixtureRequest, slug: str) -> None:
    Drawing(request).holds(is_what_it_is_alone, cases(slug, ["ratio"]), 6)


@pytest.mark.parametrize("slug", [slug for slug in OURS if STRATEGIES[slug].prepares_ahead])
def test_so_is_every_text_whose_draft_works_in_another_process(
    request: pytest.FixtureRequest, process: DraftProcess, slug: str
) -> None:
    Drawing(request).holds(partial(is_exact_and_told, process=process), beside_cases(slug), 12)


@pytest.fixture(scope="module")
def process() -> Iterator[DraftProcess]:
    with DraftProcess(partial(table_draft, VOCAB, SEED), ANYWHERE) as process:
        yield process


@st.composite
def beside_cases(draw: st.DrawFn, slug: str) -> Case:
    """A case whose draft is the one of the process."""
    case = draw(cases(slug))
    label = choose(slug, {**case.choice.params, "placement": BESIDE}).label
    return case.but(
        label=label, vocab=VOCAB, seed=SEED, noise=0.8, loops=False, tokenizer="same", contexts=(case.contexts[0], 4096)
    )


def is_exact_and_told(case: Case, process: DraftProcess | None = None) -> None:
    run = Run(case, process=process)
    for number, text in enumerate(run.decode(case.users)):
        decoded, events = text.decoded, events_of(text)
        if case.sampling.fixes_the_text:
            assert (decoded.tokens, decoded.reason) == written(case, run, number)
        told = told_by(events)
        assert told[: len(decoded.tokens)] == decoded.tokens
        assert len(told) == len(decoded.tokens) or decoded.reason in ("eos", "stop"), "cut where it ends"
        first, *_, last = events
        assert isinstance(first, Started) and first.prompt_tokens == len(case.prompts[number])
        assert isinstance(last, Finished)
        assert (last.reason, last.new_tokens) == (decoded.reason, len(decoded.tokens))
        are_in_order(events)
        keep_to_their_room(case, number, events)
        are_hits_where_prepared(case, run, events)
        says_what_it_would_say_alone(case, run, number, [*case.prompts[number], *told], events)


def is_what_it_is_alone(case: Case) -> None:
    if depends_on_others(case.choice):
        return
    alone, together = (Run(case).decode(users) for users in (1, case.users))
    assert [text.decoded for text in together] == [text.decoded for text in alone]


def depends_on_others(choice: Choice) -> bool:
    """Whether lengths of its drafts depend on neighbours, earlier texts or prices. Under ratio dice a text depends on
    them, though its law does not."""
    spec = choice.spec
    mixes = spec.usual_source.copies and spec.needs_draft  # by what passes take
    return (
        spec.prepares_ahead
        or spec.usual_source.prices_rounds
        or spec.usual_source.branches
        or mixes
        or choice.remembers
    )


# ---- the text


def written(case: Case, run: Run, number: int) -> tuple[list[int], str]:
    """Return what the target's table writes, token by token, and why it ends."""
    target, sampling, ending = run.world.target, case.sampling, case.ending
    dice, text = dice_for(sampling, run.world.vocab, case.seed + number), [*case.prompts[number]]
    dice.commit(text)
    start = len(text)
    while True:
        row = target.table[target.state_of(text)][None]  # type: ignore[attr-defined]
        token = int(dice.choose(row, [()]).ids)
        text.append(token)
        dice.commit([token])
        if token in case.ends:
            return text[start:], "eos"
        if any(stop in case.spelled(text[start:]) for stop in ending.stop):
            return text[start:], "stop"
        if len(text) - start == case.new:
            return text[start:], "length"
        if len(text) == case.contexts[0]:
            return text[start:], "context"


# ---- the events


def told_by(events: Sequence[Event]) -> list[int]:
    """Return the tokens that the rounds add up to."""
    drafts, text = {event.round: event for event in events if isinstance(event, Drafted)}, list[int]()
    prompt = next(event.prompt_tokens for event in events if isinstance(event, Started))
    for verdict in events:
        if isinstance(verdict, Verified):
            draft = drafts.get(verdict.round)
            if draft:
                assert draft.position == prompt + len(text)
                assert draft.start_ns <= draft.end_ns <= verdict.start_ns
                is_whole = verdict.accepted == len(draft.tokens) and not (draft.rows and draft.ranks[-1])
                assert (verdict.outcome == "bonus") == is_whole
                text += draft.tokens[: verdict.accepted]
            else:
                assert not verdict.accepted
            text.append(verdict.token)
    return text


def are_in_order(events: Sequence[Event]) -> None:
    """Rounds have no gap, and each event stands where a reader expects it."""
    verdicts = [event for event in events if isinstance(event, Verified)]
    assert [verdict.round for verdict in verdicts] == [*range(1, len(verdicts) + 1)]
    begun, judged = set[int](), 0
    for seq, event in enumerate(events, 1):
        assert from_dict(to_dict(event, seq)) == event
        if isinstance(event, Drafted):
            assert event.round == judged + 1 and event.round not in begun
            begun.add(event.round)
        elif isinstance(event, Anticipated):
            assert event.round == judged
            outcomes = {(accepted, token) for accepted, token, _ in event.branches}
            assert len(outcomes) == len(event.branches) in (0, sum(event.fanout))  # 0: the verdict came before
        elif isinstance(event, Verified):
            judged = event.round


def keep_to_their_room(case: Case, number: int, events: Sequence[Event]) -> None:
    """No more is drafted than can still be used, and nothing after an end token."""
    length = len(case.prompts[number])
    end = min(length + case.new, case.contexts[0])
    for event in events:
        if isinstance(event, Drafted):
            assert event.tokens and event.position + len(event.tokens) < end
            assert event.rows or case.tokenizer == "slem" or not set(case.ends) & set(event.tokens[:-1])


def are_hits_where_prepared(case: Case, run: Run, events: Sequence[Event]) -> None:
    """A round is a hit exactly if its outcome was prepared. No branch goes past an end token, or guesses a token that
    would be refused in its own place."""
    ahead = case.choice.ahead
    drafts = {event.round: event for event in events if isinstance(event, Drafted)}
    verdicts = {event.round: event for event in events if isinstance(event, Verified)}
    for event in events:
        if isinstance(event, Anticipated):
            tokens, next_draft = drafts[event.round].tokens, drafts.get(event.round + 1)
            for accepted, token, _ in event.branches:
                assert token not in case.ends
                assert accepted == len(tokens) or token != tokens[accepted]
            depths = {(accepted, token): depth for accepted, token, depth in event.branches}
            outcome = verdicts[event.round].accepted, verdicts[event.round].token
            is_in_turn = not run.lanes and not run.process
            assert ahead and event.pass_rows <= max(1, case.users) * ahead.most_branches
            if next_draft and is_in_turn:
                assert (next_draft.source == "hit") == (outcome in depths)
                if next_draft.source == "hit":
                    assert next_draft.passes == 0 and len(next_draft.tokens) <= depths[outcome]


def says_what_it_would_say_alone(
    case: Case, run: Run, number: int, text: Sequence[int], events: Sequence[Event]
) -> None:
    """A draft that missed a token still gives exact text; only its confidences and its acceptance suffer, in silence.
    Whatever was prepared, copied or thrown away before, the draft model drafts what it drafts after the text alone."""
    bends = case.dice == "ratio" and case.choice.all_params.get("constant", 1.0) != 1.0
    for event in events:
        if isinstance(event, Drafted) and is_of_the_model(event) and case.tokenizer != "slem" and not bends:
            before = [*text[: event.position]]
            for place, token in enumerate(event.tokens):
                chosen, confidence = drafted_alone(case, run, number, before)
                assert token == chosen
                if event.confidence:
                    assert event.confidence[place] == pytest.approx(confidence, abs=1e-5)
                before.append(token)


def is_of_the_model(event: Drafted) -> bool:
    return not event.rows and event.source != "copied" and event.backup in ("", "neural")


def drafted_alone(case: Case, run: Run, number: int, before: Sequence[int]) -> tuple[int, float]:
    """Return what a new runner drafts after a text, and its probability."""
    dice = dice_for(case.sampling, run.world.vocab, case.seed + number)
    dice.commit(before)
    with torch.inference_mode():
        row = run.world.draft.model.new_runner().extend(before)[-1:]
        chosen = dice.choose(row, [()])
    token = int(chosen.ids)
    return token, float(torch.softmax(chosen.scores.float(), -1)[0, token])

"""A replay counts what a live run does, pass by pass; a classifier sees in training what it will see at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch

from decoding.backends.registry import Parts
from decoding.choice import parse_choices
from decoding.core.drafter import Drafter
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco import features, judging, training
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.disco.estimating import estimate_of
from decoding.disco.recording import Recording, record
from decoding.drafting.features import DraftStep, Feature
from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Asking, Chain, Copy, Copying, Judgement, View
from decoding.prices.fit import costs_from, counted
from decoding.replay.planning import RecordedSet
from decoding.replay.player import replay
from decoding.strategies.static import SameLength
from decoding.trace.events import Drafted
from tests.kit.recordings import CAP, NEW, SAMPLINGS, many, recorded, world
from tests.kit.worlds import World, drafter_for, looking_at, some_classifier, stopped_by

ids = lambda sampling: "greedy" if sampling.is_greedy else "shared"  # noqa: E731


PRICE = 0.3
QUICK, GLANCE = looking_at(features.QUICK), looking_at(features.GLANCE)
CLASSIFIED: dict[str, tuple[str, float, DraftClassifier]] = {
    "classifier": ("threshold", 0.5, some_classifier()),
    "quick": ("threshold", 0.5, QUICK),
    "at a glance": ("priced", PRICE, GLANCE),
    "priced": ("priced", PRICE, some_classifier()),
}


def ruled(name: str) -> Callable[[Parts], Drafter]:
    rule, threshold, classifier = CLASSIFIED[name]
    return stopped_by(rule, CAP, classifier, threshold)


class Trimming(SameLength):
    """Drafts tokens that the target never sees: all but so many."""

    kept = 2

    def keeps(self, drafted: int) -> int:
        return min(drafted, self.kept)


class Pausing(SameLength):
    """Drafts in every third round."""

    round = 0

    def begin(self, view: View) -> None:
        self.round += 1
        self.lookahead = 0 if self.round % 3 else 3


@pytest.mark.parametrize("make", [partial(Pausing, 3), partial(Trimming, 5)], ids=["pausing", "trimming"])
def test_rows_that_the_draft_must_read_first_count_live_and_replayed(make) -> None:  # type: ignore[no-untyped-def]
    made, sampling = world(), SAMPLINGS[1]
    _, live = made.run(lambda parts: drafter_for(parts, make()), [3, 1], sampling)
    counts = replay([RecordedText(recorded(made, sampling).record)], make)
    assert counts == counted(live.events)
    if make.func is Pausing:
        assert 0 < counts.drafts == counts.catch_ups <= counts.late_rows
    else:
        assert counts.draft_passes > 2 * counts.drafted > 0, "passes count whose tokens the target never sees"
        assert counts.catch_ups == 0, "it has read all that the target accepted"


class Careless(Copying):
    """Asks for copies that no room is left for."""

    def copied(self) -> Sequence[int]:
        return [7] * 6

    def propose(self, view: View) -> Asking:
        yield Copy(self.copied())
        return "match"


def test_a_copy_ends_where_the_room_does_live_and_replayed() -> None:
    made, sampling = world(), SAMPLINGS[0]
    _, live = made.run(lambda parts: drafter_for(parts, Careless()), [3, 1], sampling)
    counts = replay(RecordedSet([recorded(made, sampling)]).texts(), Careless)
    assert counts == counted(live.events) and {*counts.rounds} == {*range(7)}


def test_rounds_that_copy_tell_what_rows_cost_and_nothing_of_the_draft_model() -> None:
    made = world()
    plain, copying = (made.run(choice, [3, 1], SAMPLINGS[0])[1].events for choice in parse_choices("static:1,suffix:0"))
    widest = max(len(event.tokens) for event in copying if isinstance(event, Drafted))
    both, alone = costs_from([plain, copying]), costs_from([plain])
    assert both.widest == widest + 1 > alone.widest
    assert both.draft(1) == alone.draft(1)


def test_a_room_that_the_text_left_is_known_to_the_replay() -> None:
    """A text that its end token cut short still had room: its last draft was as long as ever."""
    assert replay([RecordedText(Record.of([True, False, False], 10))], partial(SameLength, 4)).rounds == {4: 2}
    assert replay([RecordedText(Record.of([True, False, False]))], partial(SameLength, 4)).rounds == {2: 1, 0: 1}


class Watching(Chain, Feature):
    """A static lookahead that stores what a classifier would be shown, with the verdict on it."""

    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead
        self.rows: list[torch.Tensor] = []
        self.labels: list[float] = []
        self._round: list[torch.Tensor] = []
        self._previous = 1.0
        self._echoes = Echoes()

    def of(self, step: DraftStep) -> float:
        if not step.ahead:
            self._round, self._previous = [], 1.0
            self._echoes.follow(step.text)
        echoes = torch.tensor([self._echoes.of(step.token)])
        self._echoes.take(step.token)
        static = features.describe(step.scores, step.preferences, torch.tensor([step.token]), echoes)
        row = features.in_round(static, torch.tensor([self._previous]), torch.tensor([len(step.ahead) + 1.0]))
        self._previous = float(features.own(static))
        self._round.append(row)
        return 0.0

    def judged(self, judgement: Judgement) -> None:
        accepted = judgement.accepted
        judged = min(accepted + 1, len(judgement.draft.tokens))
        self.rows += self._round[:judged]
        self.labels += [1.0] * accepted + [0.0] * (judged - accepted)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
@pytest.mark.parametrize("lookahead", [3, NEW])
def test_one_teacher_forced_pass_teaches_what_a_live_run_does(sampling: Sampling, lookahead: int) -> None:
    made, watching = world(), Watching(lookahead)
    made.run(lambda parts: watching, [3, 1], sampling, 4)
    labelled = training.label([recorded(made, sampling, 4)], None if lookahead == NEW else lookahead)
    judged = len(watching.labels)
    # The live run leaves its last token to the target; the recording may know one label more.
    assert judged <= len(labelled.rows) <= judged + 1
    torch.testing.assert_close(labelled.rows[:judged], torch.cat(watching.rows))
    assert labelled.accepted[:judged].tolist() == watching.labels


RATIO = Sampling(temperature=1.0, dice="ratio", max_new_tokens=NEW)


def along_ratio_dice(seed: int) -> tuple[World, Watching, Recording]:
    """A live run that drafts every token but the last, and the recording of its text."""
    made, watching = world(), Watching(NEW)
    decoded, _ = made.run(lambda parts: watching, [3, 1], RATIO, seed)
    with torch.inference_mode():
        recording = record(
            "p",
            [3, 1],
            decoded.tokens,
            draft=made.draft,
            dice=dice_for(RATIO, 14, seed),
            end_tokens=(),
            max_new_tokens=NEW,
            judge=made.target,
        )
    return made, watching, recording


def test_under_ratio_dice_a_recording_is_of_what_the_draft_drew_there() -> None:
    _, watching, recording = along_ratio_dice(2)
    judged = len(watching.labels)
    assert recording.matches[:judged].tolist() == [label == 1.0 for label in watching.labels]
    torch.testing.assert_close(training.label([recording]).rows[:judged], torch.cat(watching.rows))


def test_under_ratio_dice_a_label_is_the_chance_of_being_accepted() -> None:
    """The label is min(1, p/q), which the draws give on average."""
    drawn, chances = [], []
    for seed in range(60):
        _, _, recording = along_ratio_dice(seed)
        labelled = training.label([recording])
        assert torch.equal(labelled.accepted, recording.accepted)
        drawn += recording.matches[:-1].tolist()
        chances += recording.accepted[:-1].tolist()
    assert any(0.0 < chance < 1.0 for chance in chances)
    assert sum(chances) / len(chances) == pytest.approx(sum(drawn) / len(drawn), abs=0.02)
    likely = [hit for hit, chance in zip(drawn, chances, strict=True) if chance > 0.999]
    assert all(likely)


@pytest.mark.parametrize("name", CLASSIFIED)
def test_the_words_in_a_trace_are_of_the_drafts_own_tokens(name: str) -> None:
    """An end token ends its draft without an estimate, even as a round's first token: the estimates of the round before
    are not its own."""
    for seed in range(6):
        _, live = world(seed, ends=[5, 9]).run(ruled(name), [3, 1], SAMPLINGS[1], seed)
        for draft in live.events:
            if isinstance(draft, Drafted):
                assert len(draft.estimate) == len(draft.tokens) - (draft.stop == "eos")


@pytest.mark.parametrize(
    ("vocab", "settings"),
    [
        (14, {}),
        (4, {"temperature": 0.8, "top_k": 3}),
        (14, {"temperature": 0.8, "top_k": 1}),
        (300, {"temperature": 0.8, "dice": "ratio"}),
    ],
)
def test_one_token_is_described_and_judged_as_many_are(vocab: int, settings: dict[str, float]) -> None:
    sampling = Sampling(**settings)  # type: ignore[arg-type]
    dice = dice_for(sampling, vocab, 5)
    logits = 3 * torch.randn(6, vocab, generator=torch.Generator().manual_seed(vocab))
    aheads = [[1] * i for i in range(6)]
    scores = dice.scores(logits, aheads)
    preferences = dice.preferences(scores, aheads)
    chosen, before = dice.draw(scores, aheads), preferences.clone()
    echoes = torch.randint(-1, 2, (6, 3)).float()
    described = features.describe(scores, preferences, chosen, echoes)
    many_rows = features.in_round(described, torch.ones(6), torch.ones(6))

    def one_by_one(quick: bool) -> list[list[float]]:
        return [
            [
                *features.describe_one(
                    scores[i : i + 1], preferences[i : i + 1], int(chosen[i]), echoes[i].tolist(), quick=quick
                ),
                1.0,
                1 / judging.POSITION_SCALE,
                *features.UNMATCHED,
            ]
            for i in range(6)
        ]

    assert bool(torch.isfinite(many_rows).all())  # whatever truncation rules out
    torch.testing.assert_close(torch.tensor(one_by_one(False)), many_rows, rtol=1e-4, atol=1e-5)
    for classifier in (some_classifier(), looking_at(features.QUICK), looking_at(features.GLANCE)):
        answers = torch.tensor([classifier.one(row) for row in one_by_one(classifier.quick)])
        torch.testing.assert_close(answers, classifier(many_rows), rtol=1e-4, atol=1e-5)
    for names in (features.GLANCE, ["score"]):  # a glance tells more than it may look at
        glancing, second = looking_at(names), features.in_round(described, torch.ones(6), torch.full((6,), 2.0))
        for ahead, rows in (([], many_rows), ([5], second)):
            estimate = estimate_of(glancing)
            steps = [DraftStep([1], ahead, int(chosen[i]), scores[i : i + 1], preferences[i : i + 1]) for i in range(6)]
            answers = torch.tensor([*map(estimate.of, steps)])
            torch.testing.assert_close(answers, glancing(rows), rtol=1e-4, atol=1e-5)
            coarse = [replace(step, scores=step.scores.bfloat16()) for step in steps]  # numpy has no such format
            torch.testing.assert_close(torch.tensor([*map(estimate.of, coarse)]), answers, rtol=0.02, atol=0.01)
    assert torch.equal(preferences, before)  # looking changes nothing


def test_only_a_classifier_that_looks_at_nothing_else_is_quick_or_glances() -> None:
    made = [some_classifier(), looking_at(features.QUICK), looking_at(features.GLANCE)]
    assert [each.quick for each in made] == [False, True, True]
    assert [each.glances for each in made] == [False, False, True]


def test_a_column_that_never_changed_in_training_moves_nothing() -> None:
    part = training.label(many(SAMPLINGS[1], range(12)))
    part.rows[:, features.NAMES.index("echo_3")] = 0.0
    classifier = training.train(part, part)
    heard = part.rows.clone()
    heard[:, features.NAMES.index("echo_3")] = 1.0
    assert torch.equal(classifier(heard), classifier(part.rows))

"""A replay counts what a live run does, pass by pass; a classifier sees in training what it will see at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
import torch

from decoding.dice import dice_for
from decoding.disco import features, metrics, training
from decoding.disco.classifier import Classifier, load_classifier
from decoding.disco.echoes import Echoes
from decoding.disco.recording import Recording, record
from decoding.drafters.base import Draft
from decoding.drafters.rule import DraftStep, StopRule
from decoding.errors import BadStrategy
from decoding.events import Drafted, Event, Finished, Started, Verified
from decoding.registry import Parts
from decoding.replay.costs import Costs, costs_from, counted, decision_cost, drafting_is_clear
from decoding.replay.planning import Study
from decoding.replay.records import Record, replay
from decoding.spec import Choice, Sampling, choose, parse_choices
from decoding.strategies.disco import RULES
from decoding.strategies.static import SameLength
from decoding.verify import Verdict
from tests.decoding.worlds import World, looking_at, some_classifier, stop_of

CAP = 8
NEW = 40
SAMPLINGS = [Sampling(max_new_tokens=NEW), Sampling(temperature=1.0, max_new_tokens=NEW, repetition_penalty=1.2)]
ids = lambda sampling: "greedy" if sampling.is_greedy else "shared"  # noqa: E731


def world(seed: int = 3, ends: Sequence[int] = ()) -> World:
    made = World.of_tables(14, seed, noise=0.9)
    made.end_tokens = frozenset(ends)
    return made


def recorded(made: World, sampling: Sampling, seed: int = 0, depth: int = CAP) -> Recording:
    decoded, _ = made.run(choose("autoregressive"), [3, 1], sampling, seed)
    with torch.inference_mode():
        return record(
            "p",
            [3, 1],
            decoded.tokens,
            draft=made.draft,
            dice=dice_for(sampling, made.vocab, seed),
            end_tokens=made.end_tokens,
            max_new_tokens=sampling.max_new_tokens,
            tail_depth=depth,
        )


PRICE = 0.3
PLAIN = parse_choices(
    "static:5,autoregressive,heuristic:3,oracle:8,threshold:0.35,cap=8,threshold:0.35,cap=8,adaptive=true,"
    "lookup:3,lookup:10,ngram=4,suffix:0.05,suffix:0.5,cap=3,suffix-memory:0.05,"
    "tree:3/21/1,tree:1/1/1,tree:auto,tree:auto,rows=12,depth=6"
)
QUICK, GLANCE = looking_at(features.QUICK), looking_at(features.GLANCE)
CLASSIFIED: dict[str, tuple[str, float, Classifier]] = {
    "classifier": ("threshold", 0.5, some_classifier()),
    "quick": ("threshold", 0.5, QUICK),
    "at a glance": ("priced", PRICE, GLANCE),
    "priced": ("priced", PRICE, some_classifier()),
}


def ruled(name: str) -> Callable[[Parts], StopRule]:
    rule, threshold, classifier = CLASSIFIED[name]
    return lambda parts: stop_of(rule, CAP, classifier, threshold)


@pytest.mark.parametrize("choice", PLAIN, ids=lambda choice: choice.label)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
@pytest.mark.parametrize("ends", [(), (5, 9)], ids=["without-end", "with-end"])
def test_a_replay_counts_exactly_what_a_live_run_does(choice: Choice, sampling: Sampling, ends: Sequence[int]) -> None:
    for seed in range(6):
        made = world(seed, ends)
        study = Study([recorded(made, sampling, seed)])
        _, live = made.run(choice, [3, 1], sampling, seed)
        assert study.play(choice) == counted(live.events)


@pytest.mark.parametrize("name", CLASSIFIED)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=ids)
@pytest.mark.parametrize("ends", [(), (5, 9)], ids=["without-end", "with-end"])
def test_so_it_does_where_a_classifier_decides(name: str, sampling: Sampling, ends: Sequence[int]) -> None:
    rule, threshold, classifier = CLASSIFIED[name]
    for seed in range(6):
        made = world(seed, ends)
        study = Study([recorded(made, sampling, seed)])
        _, live = made.run(ruled(name), [3, 1], sampling, seed)
        counts = study.count(partial(RULES[rule], threshold, CAP), study.estimates(classifier))
        assert counts == counted(live.events)


def test_copied_tokens_take_no_pass_of_the_draft_model() -> None:
    study = Study([recorded(world(), SAMPLINGS[0])])
    counts = study.play(choose("suffix", {"threshold": 0.05}))
    assert counts.copied > 0 and (counts.draft_passes, counts.drafts) == (0, 0)
    costs = Costs((0.0, 10.0, 11.0, 12.0), 2.0, 0.5, 0.3, 0.2)
    assert costs.seconds(counts) == pytest.approx(
        sum(rounds * (costs.verify(drafted + 1) + costs.round) for drafted, rounds in counts.rounds.items())
    )


def test_rounds_that_copy_tell_what_rows_cost_and_nothing_of_the_draft_model() -> None:
    made = world()
    plain, copying = (made.run(choice, [3, 1], SAMPLINGS[0])[1].events for choice in parse_choices("static:1,suffix:0"))
    widest = max(len(event.tokens) for event in copying if isinstance(event, Drafted))
    both, alone = costs_from([plain, copying]), costs_from([plain])
    assert len(both.target) == widest + 2 > len(alone.target)
    assert both.draft == alone.draft


def test_a_text_longer_than_what_was_asked_for_is_no_record() -> None:
    with pytest.raises(ValueError, match="a text of 3 tokens where at most 2 were asked for"):
        Record.of([True, False, True], max_new_tokens=2)


def test_a_room_that_the_text_left_is_known_to_the_replay() -> None:
    """A text that its end token cut short still had room: its last draft was as long as ever."""
    assert replay([Record.of([True, False, False], 10)], partial(SameLength, 4)).rounds == {4: 2}
    assert replay([Record.of([True, False, False])], partial(SameLength, 4)).rounds == {2: 1, 0: 1}


class Watching(StopRule):
    """A static lookahead that stores what a classifier would be shown, with the verdict on it."""

    reads = True

    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead
        self.rows: list[torch.Tensor] = []
        self.labels: list[float] = []
        self._round: list[torch.Tensor] = []
        self._previous = 1.0
        self._echoes = Echoes()

    def should_stop(self, step: DraftStep) -> bool:
        if not step.ahead:
            self._round, self._previous = [], 1.0
            self._echoes.follow(step.text)
        echoes = torch.tensor([self._echoes.of(step.token)])
        self._echoes.take(step.token)
        static = features.describe(step.scores, step.preferences, torch.tensor([step.token]), echoes)
        row = features.in_round(static, torch.tensor([self._previous]), torch.tensor([len(step.ahead) + 1.0]))
        self._previous = float(features.own(static))
        self._round.append(row)
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        judged = verdict.accepted + (verdict.outcome == "correction")
        self.rows += self._round[:judged]
        self.labels += [1.0] * verdict.accepted + [0.0] * (judged - verdict.accepted)


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


def test_the_classifiers_word_is_in_the_trace() -> None:
    _, live = world().run(lambda parts: stop_of("threshold", CAP, some_classifier(), 0.5), [3, 1], SAMPLINGS[0])
    drafts = [e for e in live.events if isinstance(e, Drafted)]
    assert any(draft.stop == "rule" for draft in drafts)
    for draft in drafts:
        if draft.stop == "rule":
            assert len(draft.estimate) == len(draft.tokens)
            assert draft.estimate[-1] < 0.5 <= min(draft.estimate[:-1], default=1.0)


@pytest.mark.parametrize("name", CLASSIFIED)
def test_the_words_in_a_trace_are_of_the_drafts_own_tokens(name: str) -> None:
    """An end token ends its draft without an estimate, even as a round's first token: the estimates of the round before
    are not its own."""
    for seed in range(6):
        _, live = world(seed, ends=[5, 9]).run(ruled(name), [3, 1], SAMPLINGS[1], seed)
        for draft in live.events:
            if isinstance(draft, Drafted):
                assert len(draft.estimate) == len(draft.tokens) - (draft.stop == "eos")


@pytest.mark.parametrize("vocab", [4, 14, 300])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.8, "top_k": 3},
        {"temperature": 0.8, "top_k": 1},
        {"temperature": 0.8},
        {"temperature": 0.8, "dice": "ratio"},
    ],
    ids=str,
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
                1 / features.POSITION_SCALE,
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
            stop = stop_of("threshold", 2, glancing, 0.5)
            steps = [DraftStep([1], ahead, int(chosen[i]), scores[i : i + 1], preferences[i : i + 1]) for i in range(6)]
            answers = words(stop, steps)
            torch.testing.assert_close(answers, glancing(rows), rtol=1e-4, atol=1e-5)
            coarse = [replace(step, scores=step.scores.bfloat16()) for step in steps]  # numpy has no such format
            torch.testing.assert_close(words(stop, coarse), answers, rtol=0.02, atol=0.01)
    assert torch.equal(preferences, before)  # looking changes nothing


def words(stop: StopRule, steps: Sequence[DraftStep]) -> torch.Tensor:
    stop.begin([])
    for step in steps:
        stop.should_stop(step)
    return torch.tensor(stop.estimates[-len(steps) :])


def test_only_a_classifier_that_looks_at_nothing_else_is_quick_or_glances() -> None:
    made = [some_classifier(), looking_at(features.QUICK), looking_at(features.GLANCE)]
    assert [each.quick for each in made] == [False, True, True]
    assert [each.glances for each in made] == [False, False, True]


def test_an_echo_says_what_followed_the_same_tokens_before() -> None:
    echoes = Echoes()
    echoes.follow([1, 2, 3, 4, 1, 2])
    assert echoes.of(3) == [1.0, 1.0, 0.0]  # after 2, and after 1 2, came 3; 4 1 2 is new
    assert echoes.of(9) == [-1.0, -1.0, 0.0]
    echoes.take(3)
    echoes.take(5)  # drafted, and later refused
    assert echoes.of(4) == [0.0, 0.0, 0.0]
    echoes.follow([1, 2, 3, 4, 1, 2, 3, 6, 3])
    assert echoes.of(6) == [1.0, 0.0, 0.0]
    echoes.take(6)
    echoes.take(3)
    assert echoes.of(6) == [1.0, 1.0, 1.0]  # within the draft itself


def test_a_column_that_never_changed_in_training_moves_nothing() -> None:
    part = training.label(many(SAMPLINGS[1], range(12)))
    part.rows[:, features.NAMES.index("echo_3")] = 0.0
    classifier = training.train(part, part)
    heard = part.rows.clone()
    heard[:, features.NAMES.index("echo_3")] = 1.0
    assert torch.equal(classifier(heard), classifier(part.rows))


def many(sampling: Sampling, seeds: range) -> list[Recording]:
    made = world()
    return [recorded(made, sampling, seed, depth=0) for seed in seeds]


def trained(columns: Sequence[str] = features.NAMES) -> tuple[Classifier, training.Labelled, list[training.Progress]]:
    told: list[training.Progress] = []
    parts = [training.label(many(SAMPLINGS[1], seeds)) for seeds in (range(60), range(60, 90), range(90, 120))]
    return training.train(parts[0], parts[1], columns=columns, on_progress=told.append), parts[2], told


def test_training_learns_to_tell_accepted_from_refused_and_means_its_probabilities() -> None:
    classifier, unseen, told = trained()
    found = metrics.measure(classifier(unseen.rows), unseen.accepted)
    assert found.auc > 0.75
    assert found.calibration_error < 0.06
    assert told[-1].held_out_loss < told[0].held_out_loss
    assert torch.equal(trained()[0].hidden, classifier.hidden)  # the same seed trains the same classifier


def test_few_tokens_teach_a_narrow_network_what_they_teach_a_wide_one() -> None:
    """A small set must not end the training before it has begun to tell."""
    few, held_out, unseen = (
        training.label(many(SAMPLINGS[1], seeds)) for seeds in (range(12), range(60, 72), range(90, 120))
    )

    def auc(hidden: int) -> float:
        classifier = training.train(few, held_out, columns=features.GLANCE, hidden=hidden)
        return metrics.measure(classifier(unseen.rows), unseen.accepted).auc

    assert auc(4) > auc(32) - 0.03


def test_an_ablation_does_not_look_at_what_it_must_not_see() -> None:
    classifier, unseen, _ = trained(columns=("entropy",))
    changed = unseen.rows.clone()
    changed[:, [i for i, name in enumerate(features.NAMES) if name != "entropy"]] += 5.0
    torch.testing.assert_close(classifier(changed), classifier(unseen.rows))


def test_a_stored_classifier_answers_as_before_and_only_for_its_pair(tmp_path) -> None:  # type: ignore[no-untyped-def]
    made = some_classifier()
    made.card = {"features": list(features.NAMES), "pair": ["t", "d"]}
    made.save(tmp_path / "c")
    rows = torch.randn(5, len(features.NAMES))
    assert torch.equal(load_classifier(tmp_path / "c", ["t", "d"])(rows), made(rows))
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["card.json", "classifier.safetensors"]
    with pytest.raises(BadStrategy, match="another pair"):
        load_classifier(tmp_path / "c", ["t", "other"])


@pytest.mark.parametrize("damage", ["torn", "absent", "card", "features"])
def test_a_classifier_that_cannot_be_trusted_is_refused_in_words(tmp_path, damage: str) -> None:  # type: ignore[no-untyped-def]
    made = some_classifier()
    made.card = {"features": ["mood"] if damage == "features" else list(features.NAMES), "pair": []}
    made.save(tmp_path)
    weights, card = tmp_path / "classifier.safetensors", tmp_path / "card.json"
    if damage == "torn":
        weights.write_bytes(weights.read_bytes()[:-40])
    if damage == "absent":
        weights.unlink()
    if damage == "card":
        card.write_text("{")
    with pytest.raises(BadStrategy, match="rain it again"):
        load_classifier(tmp_path)


def labelled(rows: torch.Tensor, accepted: torch.Tensor) -> training.Labelled:
    return training.Labelled(rows, accepted, torch.zeros(len(rows)))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda p: labelled(p.rows[:50], p.accepted[:50]), "give 50 drafted tokens and at least 200"),
        (lambda p: labelled(p.rows, torch.ones_like(p.accepted)), "all were accepted"),
        (lambda p: labelled(p.rows, torch.zeros_like(p.accepted)), "none were accepted"),
        (lambda p: labelled(p.rows * torch.nan, p.accepted), "are NaN or infinite"),
    ],
)
def test_what_teaches_nothing_is_refused_in_words(spoil, sentence: str) -> None:  # type: ignore[no-untyped-def]
    part = training.label(many(SAMPLINGS[1], range(12)))
    with pytest.raises(BadStrategy, match=sentence):
        training.train(spoil(part), part)
    with pytest.raises(BadStrategy, match="no recording"):
        training.label([])


def test_the_area_under_the_curve_counts_pairs() -> None:
    p = torch.tensor([0.9, 0.8, 0.8, 0.3, 0.1])
    y = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    pairs = [(a, b) for a in range(5) for b in range(5) if y[a] == 1 and y[b] == 0]
    expected = sum((p[a] > p[b]) + 0.5 * (p[a] == p[b]) for a, b in pairs) / len(pairs)
    assert metrics.area_under_roc(p, y) == pytest.approx(float(expected))


def test_the_curves_end_where_they_must() -> None:
    found = metrics.measure(torch.tensor([0.9, 0.6, 0.4, 0.2]), torch.tensor([1.0, 1.0, 0.0, 0.0]))
    assert found.roc[0] == (1.0, 1.0) and found.roc[-1] == (0.0, 0.0)
    assert found.f1 == found.auc == 1.0
    assert sum(count for _, _, count in found.reliability) == 4


def test_costs_are_read_off_traces_and_price_what_was_counted() -> None:
    """Traces made with known prices give those prices back, and a replay at them gives the traces' own length."""
    made, sampling = world(), SAMPLINGS[0]
    traces: list[list[Event]] = []
    for lookahead in (0, 1, 2, 4, 6, 9):
        choice = choose("static", {"lookahead": lookahead}) if lookahead else choose("autoregressive")
        traces.append(timed(made.run(choice, [3, 1], sampling)[1].events))
    costs = costs_from(traces)
    assert [round(costs.verify(n) * 1e6) for n in (1, 2, 5, 7, 10)] == [1010, 1020, 1050, 1070, 1100]
    assert round(costs.draft * 1e6) == 200 and round(costs.draft_round * 1e6) == 50
    assert round(costs.catch_up * 1e6) == 30 and round(costs.round * 1e6) == 7
    live = traces[3]
    spent = next(e.end_ns for e in reversed(live) if isinstance(e, Verified)) * 1e-9
    priced = costs.seconds(replay([recorded(made, sampling).record], partial(SameLength, 4)))
    assert priced == pytest.approx(spent, rel=1e-6)


def test_the_rest_of_a_round_costs_more_where_there_is_a_draft_to_tell_of() -> None:
    """A round without a draft is nearly all verification: the median of both would make the target alone look slow."""
    made, sampling = world(), SAMPLINGS[0]
    runs = [made.run(choose("static", {"lookahead": n}), [3, 1], sampling)[1].events for n in (1, 2, 4)]
    alone = timed(made.run(choose("autoregressive"), [3, 1], sampling)[1].events)
    costs = costs_from([alone, *(timed(run, telling=80_000) for run in runs)])
    assert round(costs.round * 1e6) == 7 and round(costs.draft_round * 1e6) == 50 + 80


def test_the_drafts_own_probability_is_looked_at_for_a_price() -> None:
    costs = Costs((0.0, *[1.0] * 6), draft=0.1, draft_round=0.0, catch_up=0.0, round=0.0, decision=0.03, reading=0.02)
    counts = replay([Record.of([True, False, True])], partial(SameLength, 2))
    least = costs.seconds(counts)
    assert costs.seconds(counts, "confidence") - least == pytest.approx(0.02 * counts.draft_passes)
    assert costs.seconds(counts, "estimate") - least == pytest.approx(0.03 * counts.draft_passes)


def test_what_comes_now_and_then_is_spread_over_the_tokens() -> None:
    """Noise is made for 32 positions in one go: no median sees it, and every sample pays for it."""
    made, sampling = world(), SAMPLINGS[0]
    traces = []
    for lookahead in (0, 2, 5):
        choice = choose("static", {"lookahead": lookahead}) if lookahead else choose("autoregressive")
        traces.append(timed(made.run(choice, [3, 1], sampling)[1].events, now_and_then=4_000_000))
    assert costs_from(traces).token * 1e6 == pytest.approx(4_000 / NEW, abs=1)


def test_a_decision_costs_what_a_draft_of_as_many_tokens_takes_longer() -> None:
    made, sampling = world(), SAMPLINGS[0]
    queued = [timed(made.run(choose("static", {"lookahead": n}), [3, 1], sampling)[1].events) for n in (1, 2, 3, 4, 8)]
    deciding = made.run(lambda parts: stop_of("threshold", CAP, some_classifier(), 0.5), [3, 1], sampling)[1].events
    assert decision_cost([timed(deciding, per_token=215_000)], queued) * 1e9 == pytest.approx(15_000)
    assert decision_cost([timed(deciding)], queued) == pytest.approx(0.0)


def test_a_speed_up_is_the_median_over_samples() -> None:
    records = [Record.of(matches) for matches in ([True] * 9, [False] * 9, [True, False, True] * 3)]
    costs = Costs((0.0, *[1.0] * 12), draft=0.1, draft_round=0.0, catch_up=0.0, round=0.0)
    baseline, drafted = replay(records, partial(SameLength, 0)), replay(records, partial(SameLength, 2))
    alone = [
        costs.seconds(replay([record], partial(SameLength, 0)))
        / costs.seconds(replay([record], partial(SameLength, 2)))
        for record in records
    ]
    assert costs.speedup(drafted, baseline) == sorted(alone)[1]


def test_a_busy_moment_does_not_make_more_rows_cheaper() -> None:
    def verified(number: int, cost: int) -> Verified:
        return Verified(number, 0, 1, "correction", 0, number * 10_000, number * 10_000 + cost)

    def drafted(number: int, count: int) -> Drafted:
        return Drafted(number, 1, count, (1,) * count, (), (), "limit", "fresh", count, 0, 100)

    spent = {0: 1_000, 1: 3_000, 2: 2_000, 3: 4_000}  # drafted tokens -> ns; two rows met a busy moment
    trace: list[Event] = [verified(0, 9_000)]  # the first round is not counted
    for number, (count, cost) in enumerate(spent.items(), start=1):
        trace += [*([drafted(number, count)] if count else []), verified(number, cost)]
    assert [round(costs_from([trace]).verify(rows) * 1e9) for rows in (1, 2, 3, 4)] == [1_000, 2_500, 2_500, 4_000]


@pytest.mark.parametrize("spent", [{2: 12_000, 4: 9_000}, {2: 1_000, 4: 5_000}], ids=["falling", "from below zero"])
def test_whatever_noise_does_to_long_and_short_drafts_no_price_is_negative_and_none_is_nothing(spent) -> None:
    trace: list[Event] = [Verified(0, 0, 1, "correction", 0, 0, 1_000)]
    for number, (count, cost) in enumerate(spent.items(), start=1):
        start, end = number * 100_000, number * 100_000 + cost
        trace.append(Drafted(number, 1, count, (1,) * count, (), (), "limit", "fresh", count, start, end))
        trace.append(Verified(number, 0, 1, "correction", cost, end, end + 1_000))
    costs = costs_from([trace])
    assert costs.draft * 1e9 == pytest.approx(sum(spent.values()) / sum(spent)) and costs.draft_round == 0.0
    assert drafting_is_clear([trace]) is (spent[4] > spent[2])


def timed(events: Sequence[Event], per_token: int = 200_000, now_and_then: int = 0, telling: int = 0) -> list[Event]:
    """The same rounds at fixed prices, in nanoseconds."""
    drafts = {e.round: e for e in events if isinstance(e, Drafted)}
    out: list[Event] = [Started(2, 0)]
    now, behind = now_and_then, False
    for verdict in (e for e in events if isinstance(e, Verified)):
        free, draft = now, drafts.get(verdict.round)
        now += 7_000
        if draft:
            now += telling
            begin, now = now, now + 50_000 + per_token * draft.passes + 30_000 * behind
            out.append(Drafted(**{**as_dict(draft), "start_ns": begin, "end_ns": now}))
            behind = verdict.outcome == "bonus"
        rows = len(draft.tokens) + 1 if draft else 1
        begin, now = now, now + 1_000_000 + 10_000 * rows
        out.append(Verified(**{**as_dict(verdict), "wait_ns": begin - free, "start_ns": begin, "end_ns": now}))
    return [*out, Finished("length", counted(events).tokens, now)]


def as_dict(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__slots__}  # type: ignore[union-attr]

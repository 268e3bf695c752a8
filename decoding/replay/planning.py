"""Planning: find the best settings for a pair and prompts. Record once, predict every setting by replay, name the
best."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType

import torch
from torch import Tensor

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, by_kind, choose, parse_choices, planned
from decoding.core.loop import never
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.disco.recording import Recording, record, undrafted
from decoding.drafting.records import Record, RecordedText, Seen
from decoding.drafting.source import WORDS, Chain, Sight, Source, Words, no_words
from decoding.drafting.strategy import CLASSIFIER, LONGEST, NEWEST
from decoding.measure.measurement import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prices.cost_model import CostModel, Counts
from decoding.prompts.prompt import PromptItem
from decoding.replay.player import copied_record, replay
from decoding.replay.workload import settings
from decoding.strategies import BASELINE, STRATEGIES, heuristic, oracle, suffix
from decoding.strategies import static as static_strategy
from decoding.strategies.disco import RULES, THRESHOLDS, Priced
from decoding.trace.events import Recorder
from decoding.vocabularies.shared import require_scores

CAP = LONGEST  # longest draft that is considered
Rows = Sequence[Sequence[Sequence[float]]]  # indexed by recording, position where the round starts, token of the round
LOOKS: Mapping[str, Callable[[Tensor], Tensor]] = {  # at the static features of tokens
    "confidence": features.own,
    "lead": features.lead,
    "peak": features.peak,
}


# If the dice fix the text, any strategy writes it, and WRITER is fast. Under ratio dice nearly every token must be
# drafted and judged, so DEEP_WRITER drafts long.
WRITER, DEEP_WRITER = (choose(static_strategy.STRATEGY.slug, {"lookahead": lookahead}) for lookahead in (3, 20))
COPIER = choose(suffix.STRATEGY.slug)  # writes the texts of a target alone: fast where they repeat


@dataclass(frozen=True)
class RecordedSet:
    """Recordings of one prompt set, and what replays compute from them once."""

    recordings: Sequence[Recording]
    words: Words = no_words
    is_undrafted: bool = False  # no draft was recorded
    _looks: dict[str, Rows] = field(default_factory=dict, init=False, repr=False, compare=False)  # by sight
    _estimates: dict[int, tuple[DraftClassifier, Rows]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def rounds(self) -> list[Tensor]:
        return [recording.rounds(CAP) for recording in self.recordings]

    @cached_property
    def follows(self) -> float:
        """Probability that a token is accepted after an accepted one."""
        after = [accepted for r in self.recordings for accepted in r.accepted[1:][r.matches[:-1]].tolist()]
        return statistics.mean(after) if after else 1.0

    @property
    def records(self) -> list[Record]:
        return [text.record for text in self._texts]

    @property
    def drafted(self) -> list[Record]:
        """Records of the draft model; none if it was not recorded."""
        return [] if self.is_undrafted else self.records

    @cached_property
    def copied(self) -> dict[str, list[Record]]:
        """Records of every source that copies and asks no classifier, with default settings, by its label."""
        every = [*map(choose, STRATEGIES), *planned()]
        kinds = by_kind(each for each in every if each.spec.copies_only and each.classifier is None)
        found, texts = dict[str, list[Record]](), self.texts()
        for choice in (choice for kind in kinds for choice in parse_choices(kind)):
            source = choice.sources()  # which may remember earlier texts
            found[choice.label] = [copied_record(text, source()) for text in texts]
        return found

    def texts(self, classifier: DraftClassifier | None = None) -> list[RecordedText]:
        """Texts as sources see them. One that sees estimates needs a classifier."""
        return [replace(text, seen=self._seen(i, classifier)) for i, text in enumerate(self._texts)]

    def few(self, most: int, classifier: DraftClassifier | None = None) -> list[RecordedText]:
        """Return some texts of every part of the prompts, of about so many tokens in all."""
        stride = max(1, round(sum(text.tokens for text in self._texts) / most))
        return self.texts(classifier)[::stride]

    @cached_property
    def _texts(self) -> list[RecordedText]:
        return [recording.played for recording in self.recordings]

    def estimates(self, classifier: DraftClassifier | None) -> Rows:
        """Estimates of the tokens after which a source is asked: of all but a draft's own end token. None without a
        classifier or a draft model."""
        if classifier is None or self.is_undrafted:
            return [()] * len(self.recordings)
        if id(classifier) not in self._estimates:
            tables = (classifier.of_rounds(rounds).tolist() for rounds in self.rounds)
            rows = [
                [row[: own_end - 1] for row, own_end in zip(rows, record.own_ends, strict=True)]
                for rows, record in zip(tables, self.records, strict=True)
            ]
            self._estimates[id(classifier)] = classifier, rows  # with the classifier, so that its id stays its own
        return self._estimates[id(classifier)][1]

    def count(
        self,
        source: Callable[[], Source],
        classifier: DraftClassifier | None = None,
        costs: CostModel | None = None,
    ) -> Counts:
        """Count the passes of a source. One that sees estimates needs a classifier, and one that weighs its drafts by
        times needs costs."""
        return replay(self.texts(classifier), source, costs)

    def _shown(self, sees: str, classifier: DraftClassifier | None) -> Rows:
        """Return what a source with this sight sees of each token."""
        if sees == "estimate":
            return self.estimates(classifier)
        if sees not in self._looks:
            self._looks[sees] = [LOOKS[sees](rounds).tolist() for rounds in self.rounds]
        return self._looks[sees]

    def play(self, choice: Choice, classifier: DraftClassifier | None = None, costs: CostModel | None = None) -> Counts:
        """Count the passes of a choice."""
        return self.count(choice.sources(judge_if_any(classifier)), classifier, costs)

    def _seen(self, i: int, classifier: DraftClassifier | None) -> Seen:
        recording = self.recordings[i]

        def words(place: int) -> str:
            end = recording.prompt_tokens + place
            return self.words(recording.tokens[max(0, end - WORDS) : end])

        return Seen(lambda sees, place: self._shown(sees, classifier)[i][place], words)


@dataclass(frozen=True)
class Prediction:
    """Predicted speed of a setting, by replay and measured costs."""

    choice: Choice  # with its load
    tokens_per_s: float  # of all texts that are decoded together
    speedup: float  # over autoregressive at the same load

    def asking(self, classifier: str) -> Prediction:
        """Name the classifier that its choice asks."""
        return replace(self, choice=self.choice.asking(classifier))


def best_of_kinds(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the best setting of each kind, fastest first."""
    fastest: dict[str, Prediction] = {}
    for prediction in sorted(predictions, key=lambda prediction: -prediction.tokens_per_s):
        fastest.setdefault(prediction.choice.kind, prediction)
    return [*fastest.values()]


def study(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    *,
    tails: bool,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
    texts: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> RecordedSet:
    """Write every prompt's text once and record the draft along it; fewer after a cancellation. An unusable prompt is
    refused before any text is written. Replays of rules that look at tokens need `tails`; training does not. Under
    ratio dice each strategy has its own text; the recorded one is as likely as any, so replays give the average costs
    of a run. `texts`, by prompt, are those that a run of the same settings wrote. If the pair has no draft, only the
    texts are recorded: copies need no more."""
    if pair.bridge:
        require_scores(pair.bridge.method, "A recording")
    writer = (WRITER if sampling.fixes_the_text else DEEP_WRITER) if pair.draft else COPIER
    comparison = Measurement(pair, prompts, [writer], sampling, cancelled=cancelled)
    for prompt in prompts:
        comparison.tokens(prompt)
    found: list[Recording] = []
    for prompt in prompts:
        text = texts.get(prompt.id) or comparison.decode(SampleKey(writer, prompt, 0), Recorder()).tokens
        if cancelled():
            break  # the text is incomplete
        found.append(_recorded(comparison, prompt, text, CAP if tails else 0))
        on_progress(len(found))
    return RecordedSet(found, pair.tokenizer.decode, is_undrafted=pair.draft is None)


@torch.inference_mode()
def _recorded(comparison: Measurement, prompt: PromptItem, text: Sequence[int], depth: int) -> Recording:
    pair, sampling, tokens = comparison.models, comparison.sampling, comparison.tokens(prompt)
    end_tokens = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    if pair.draft is None:
        return undrafted(prompt.id, tokens, text, sampling.max_new_tokens, end_tokens)
    return record(
        prompt.id,
        tokens,
        text,
        draft=pair.draft,
        dice=dice_for(sampling, pair.vocab, comparison.seed(prompt, 0)),
        end_tokens=end_tokens,
        max_new_tokens=sampling.max_new_tokens,
        tail_depth=depth,
        judge=None if sampling.fixes_the_text else pair.target,
    )


def static(lookahead: int) -> Choice:
    return choose(static_strategy.STRATEGY.slug, {"lookahead": lookahead})


AUTOREGRESSIVE = choose(BASELINE)
STATICS = [static(n) for n in range(1, CAP + 1)]
HEURISTIC = choose(heuristic.STRATEGY.slug, {"initial": 5})
ORACLE = choose(oracle.STRATEGY.slug, {"cap": CAP})


def predict(study: RecordedSet, costs: CostModel, classifier: DraftClassifier | None = None) -> list[Prediction]:
    """Predict the speed of every setting that `grid` lists, for every strategy that can be replayed."""
    choices, baseline = settings(classifier, is_undrafted=study.is_undrafted), study.play(AUTOREGRESSIVE)

    def predicted(choice: Choice) -> Prediction:
        counts, sees = study.play(choice, classifier, costs), choice.sees
        speed = costs.tokens_per_s(counts, sees)
        return Prediction(choice, speed, costs.speedup(counts, baseline, sees))

    return [*map(predicted, choices)]


def sweep(study: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> dict[str, list[dict[str, float]]]:
    """Speed-up of each of DISCO's rules over its threshold."""

    def over(rule: Callable[[float, int], Chain]) -> list[dict[str, float]]:
        return _swept(study, costs, lambda at: study.count(lambda: rule(at, CAP), classifier), "estimate")

    return {name: over(rule) for name, rule in RULES.items()}


def sweep_of_copies(study: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> list[dict[str, float]]:
    """Speed-up of suffix decoding with a classifier over its threshold."""
    return _swept(study, costs, lambda at: study.play(judged(at), classifier))


def _swept(
    study: RecordedSet, costs: CostModel, count: Callable[[float], Counts], sees: Sight = "nothing"
) -> list[dict[str, float]]:
    baseline, found = study.play(AUTOREGRESSIVE), []
    for threshold in THRESHOLDS:
        counts = count(threshold)
        rounds, speedup = max(1, counts.target_passes), costs.speedup(counts, baseline, sees)
        drafted, accepted = counts.drafted / rounds, counts.accepted / rounds
        found.append({"threshold": threshold, "speedup": speedup, "drafted": drafted, "accepted": accepted})
    return found


def judged(threshold: float) -> Choice:
    """Return the choice of suffix decoding with a classifier that stops at this threshold."""
    return choose(suffix.STRATEGY.slug, {suffix.THRESHOLD.name: threshold, CLASSIFIER.name: NEWEST})


def tuned(study: RecordedSet, classifier: DraftClassifier, thresholds: Mapping[str, float]) -> dict[str, Counts]:
    """Counts of each of DISCO's rules at its own threshold."""
    return {name: study.count(partial(rule, thresholds[name], CAP), classifier) for name, rule in RULES.items()}


def best_for_copies(study: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> float:
    """Threshold of suffix decoding with a classifier that replay finds fastest."""
    choices = by_kind(planned())[judged(0.0).kind]
    speeds = {float(c.params["threshold"]): costs.tokens_per_s(study.play(c, classifier)) for c in choices}
    return max(speeds, key=lambda threshold: speeds[threshold])


def copying(study: RecordedSet, costs: CostModel, classifier: DraftClassifier, threshold: float) -> dict[str, float]:
    """Speed-ups of each kind that copies: of the best setting on these prompts, or if the classifier judges its copies,
    of this threshold. What one gains that remembers earlier texts depends on their order, so it is left out."""
    baseline = study.play(AUTOREGRESSIVE)

    def speedup(choice: Choice) -> float:
        return costs.speedup(study.play(choice, classifier), baseline)

    found = dict[str, float]()
    for kind, choices in by_kind(each for each in planned() if each.spec.copies_only).items():
        if choices[0].judges_copies:
            [usual] = parse_choices(kind)
            found[kind] = speedup(choose(usual.strategy, {**usual.params, suffix.THRESHOLD.name: threshold}))
        elif not choices[0].remembers:
            found[f"best {kind}"] = max(map(speedup, choices))
    return found


def price_of_a_token(study: RecordedSet, costs: CostModel, classifier: DraftClassifier) -> float:
    """Threshold of the priced rule. It depends on the tokens per second, and they depend on it, so iterate."""
    price = priced(costs, costs.tokens_per_s(study.play(static(3))), study.follows)
    for _ in range(8):
        counts = study.count(lambda at=price: Priced(at, CAP), classifier)  # type: ignore[misc]
        price = priced(costs, costs.tokens_per_s(counts, "estimate"), study.follows)
    return price


def priced(costs: CostModel, tokens_per_s: float, follows: float) -> float:
    """Return the threshold of the priced rule: the cost of one more drafted token (draft it, decide, verify one more
    row), in tokens, divided by `follows`, the probability that a token is accepted after an accepted one. If that is 0,
    return 1: a draft then ends after its first token."""
    if not follows:
        return 1.0
    return tokens_per_s * (costs.draft(1) + costs.decision + costs.row()) / follows

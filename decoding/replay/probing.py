"""Probe: measure what passes cost on this machine, within seconds. A few prompts are decoded in the real loop with
drafts of every length."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice, product

import torch

from decoding.backends.joint_probing import AnyTokens, text_of
from decoding.backends.pair import ModelPair
from decoding.backends.serving import TextCaches
from decoding.choice import Choice, choose
from decoding.core.ending import Ending
from decoding.core.loop import OnProgress, decode, unheard
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.estimating import estimate_of
from decoding.drafting.features import Confidence, DraftStep, Feature
from decoding.drafting.source import Chain, Judgement, Source, View
from decoding.drafting.tree_shapes import PRIOR, RANKS, ShapedTree, TreeShape, best_shape
from decoding.measure.measurement import Measurement, memory_for
from decoding.measure.schedule import SampleKey
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import costs_from, decision_cost, with_mixes, with_trees
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import AUTOREGRESSIVE, CAP
from decoding.replay.workload import GROWN, MIXED, PROMPTS, UNAIDED, VARIED
from decoding.strategies import hybrid
from decoding.strategies.disco import Below
from decoding.strategies.threshold import Unsure
from decoding.trace.events import Event, Recorder
from decoding.trace.timing import Clock

LENGTHS = (*range(1, 9), *range(1, 9), *range(1, 24))  # verifies 1 to 24 rows, and few rows often
SIZES = ((8, 3), (3, 2), (16, 4), (5, 2), (24, 5), (12, 4))  # tokens and depth of trees
STRIDE = 7  # step through LENGTHS: short and long drafts follow each other
KEPT = 3  # rounds per length: a pass of the same shape as the last finds warmer caches, as in most real runs
EVEN_ODDS = 0.5  # threshold of the timed rules
MIX = choose(hybrid.STRATEGY.slug)


def probe(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    classifier: str | None = None,
    on_progress: OnProgress = unheard,
) -> CostModel:
    """Costs of a verification by rows, a drafted token, a look at the draft's own probability, a tree, a choice between
    two sources, and a classifier's decision. A target alone has only the first. `on_progress` gets the turns done."""
    comparison = Measurement(pair, typical(prompts), [AUTOREGRESSIVE], sampling)
    comparison.warm_up()
    timed = [TimedRule(partial(Unsure, EVEN_ODDS, CAP), Confidence)] if pair.draft else []
    if pair.draft and classifier is not None:
        timed.append(TimedRule(partial(Below, EVEN_ODDS, CAP), partial(estimate_of, pair.classifier(classifier))))
    for _ in range(1 + comparison.is_on_gpu):  # a first run captures the forms that the second replays
        rules = [TimedRule(rule.source, rule.feature) for rule in timed]
        found = _measured(comparison, rules, on_progress)
    # A GPU's thread waits for the token before it asks the rule, so there only whole drafts show what asking costs.
    answers = [decision_cost(rule.traces, found.chains) if comparison.is_on_gpu else rule.price for rule in rules]
    reading, decision = (*answers, 0.0, 0.0)[:2]
    costs = with_trees(dataclasses.replace(costs_from(found.chains), reading=reading, decision=decision), found.trees)
    return with_mixes(costs, found.mixes, MIX.spec.usual_source.sees)


@dataclass
class TimedRule:
    """A rule that stops drafts, what it sees of each token, and the times in ns that it took to answer: after a draft's
    first token, with cold caches, and after later ones."""

    source: Callable[[], Chain]
    feature: Callable[[], Feature]
    first: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    traces: list[list[Event]] = field(default_factory=list)  # samples whose drafts it stopped

    @property
    def price(self) -> float:
        """Seconds per token, from medians, which a busy moment hardly moves."""
        parts = [part for part in (self.first, self.later) if part]
        return sum(len(part) * statistics.median(part) for part in parts) * 1e-9 / max(1, sum(map(len, parts)))


@dataclass
class ProbeSamples:
    """Samples with drafts of every length or none, with trees, and of a mix."""

    chains: list[list[Event]] = field(default_factory=list)
    trees: list[list[Event]] = field(default_factory=list)
    mixes: list[list[Event]] = field(default_factory=list)


def _measured(comparison: Measurement, rules: Sequence[TimedRule], on_progress: OnProgress) -> ProbeSamples:
    """Decode samples of all kinds in turn."""
    found, turns = ProbeSamples(), list(product(comparison.prompts, range(VARIED)))
    for number, (prompt, turn) in enumerate(turns):
        on_progress(number, len(turns))
        found.chains.append(drafted(comparison, prompt, of_lengths(comparison, every_length(number))))
        if turn in UNAIDED:
            found.chains.append(_traced(comparison, prompt, AUTOREGRESSIVE))
        if not comparison.models.draft:
            continue
        if turn in MIXED:
            found.mixes.append(_traced(comparison, prompt, MIX))
        if turn in GROWN:
            found.trees.append(drafted(comparison, prompt, EveryShape(number)))
        for rule in rules if turn == VARIED // 2 else ():
            rule.traces.append(drafted(comparison, prompt, timed := Timed(rule), timed))
    on_progress(len(turns), len(turns))
    return found


def typical(prompts: Sequence[PromptItem]) -> list[PromptItem]:
    """Pick the middle prompt of each quarter by length: a verification after a long prompt costs more, so the first
    prompts might not represent the set."""
    by_length, count = sorted(prompts, key=lambda prompt: len(prompt.text)), min(PROMPTS, len(prompts))
    return [by_length[(2 * quarter + 1) * len(prompts) // (2 * count)] for quarter in range(count)]


def every_length(turn: int, lengths: Sequence[int] = LENGTHS) -> Iterator[int]:
    """Lengths of drafts, each for a few rounds."""
    return (length for length in islice(cycle(lengths), turn, None, STRIDE) for _ in range(KEPT))


def of_lengths(comparison: Measurement, lengths: Iterator[int]) -> Source:
    """Make a source of drafts of these lengths: by the draft model, or without one of any tokens."""
    return EveryLength(lengths) if comparison.models.draft else AnyTokens(lengths)


class EveryLength(Chain):
    """Lookahead that changes after every few rounds."""

    def __init__(self, lengths: Iterator[int]) -> None:
        self._lengths = lengths
        self.lookahead = next(lengths)

    def judged(self, judgement: Judgement) -> None:
        self.lookahead = next(self._lengths)


class EveryShape(ShapedTree):
    """A tree of another size after every few rounds."""

    listed = RANKS

    def __init__(self, turn: int) -> None:
        sizes = islice(cycle(SIZES), turn, None)
        self._shapes = (best_shape(lambda depth, rank: PRIOR[rank], *size) for size in sizes for _ in range(KEPT))

    def shape(self) -> TreeShape:
        return next(self._shapes)


class Timed(Chain, Feature):
    """Times each answer of a rule, from its look at the token on: an answer takes too little beside a pass to be
    measured on whole drafts."""

    def __init__(self, rule: TimedRule) -> None:
        self._source, self._feature, self._rule = rule.source(), rule.feature(), rule
        self.look, self.sees = self._feature.look, self._source.sees

    def begin(self, view: View) -> None:
        self._source.begin(view)
        self.lookahead = self._source.lookahead

    def of(self, step: DraftStep) -> float:
        self._began, self._times = time.perf_counter_ns(), self._rule.later if step.ahead else self._rule.first
        return self._feature.of(step)

    def stops(self, seen: float) -> bool:
        stop = self._source.stops(seen)
        self._times.append(time.perf_counter_ns() - self._began)
        return stop

    def judged(self, judgement: Judgement) -> None:
        self._source.judged(judgement)


def _traced(comparison: Measurement, prompt: PromptItem, choice: Choice) -> list[Event]:
    recorder = Recorder()
    comparison.decode(SampleKey(choice, prompt, 0), recorder)
    return recorder.events


def drafted(comparison: Measurement, prompt: PromptItem, source: Source, feature: Feature | None = None) -> list[Event]:
    """Decode a sample with the drafts of this source, and return its events."""
    pair, sampling = comparison.models, comparison.sampling
    if not source.copies:
        pair.require_draft("Measuring what drafting costs")
    ends = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    probed = text_of(
        pair,
        TextCaches(pair.target, pair.draft),
        comparison.tokens(prompt),
        dice_for(sampling, pair.vocab, comparison.seed(prompt, 0)),
        source,
        Clock(),
        feature=feature,
        ending=Ending(ends, sampling.stop, pair.tokenizer.decode),
        most=sampling.max_new_tokens,
    )
    with memory_for(SampleKey(AUTOREGRESSIVE, prompt, 0)), torch.inference_mode():
        decode(probed, comparison.cancelled)
    return probed.sink.events  # type: ignore[attr-defined,no-any-return]

"""What passes cost on this machine: a few prompts, decoded in the real loop with drafts of every length, in seconds."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice

import torch

from decoding import sequence
from decoding.comparison import Comparison, Key
from decoding.costs import Costs, costs_from
from decoding.dice import dice_for
from decoding.disco.stops import stop_of
from decoding.drafters.base import Draft
from decoding.drafters.model import ModelDrafter
from decoding.drafters.rule import DraftStep, StopRule
from decoding.ending import Ending
from decoding.events import Event, Recorder
from decoding.loop import decode
from decoding.pair import Pair
from decoding.planning import CAP
from decoding.prompts import Prompt
from decoding.spec import Sampling, choose
from decoding.stopping import Threshold
from decoding.timing import Clock
from decoding.verify import Verdict

PROMPTS = 4
VARIED = 5  # samples of each prompt with drafts of every length
ALONE = (0, 2, 4)  # after which of them the target goes alone: every speed-up stands or falls with what that takes
LENGTHS = (*range(1, 9), *range(1, 9), *range(1, 24))  # so that 1 to 24 rows are verified, and few rows often
STRIDE = 7  # from one length to the next: short and long ones follow each other in any order
KEPT = 3  # rounds of one length: a form of pass that was run just before finds warmer caches, as most do in earnest
EVEN_ODDS = 0.5  # below which the rules stop whose answers are timed
AUTOREGRESSIVE = choose("autoregressive")


def samples(prompt_count: int, *, classifiers: int) -> int:
    """How many a probe decodes."""
    return min(PROMPTS, prompt_count) * (len(ALONE) + VARIED + 1 + classifiers)


def probe(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, classifier: str | None = None) -> Costs:
    """What a verification of each number of rows costs, a drafted token, a look at the draft's own probability of it,
    and a classifier's decision, side by side."""
    if classifier is not None:
        return probe_each(pair, prompts, sampling, [classifier])[0]
    return _probed(pair, prompts, sampling, [])[0]


def probe_each(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, classifiers: Sequence[str]) -> list[Costs]:
    """The same for several classifiers: of one moment, and different in the decision alone."""
    rules = [partial(stop_of, "threshold", CAP, pair.classifier(name), EVEN_ODDS) for name in classifiers]
    costs, decisions = _probed(pair, prompts, sampling, rules)
    return [dataclasses.replace(costs, decision=decision) for decision in decisions]


def _probed(
    pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, deciding: Sequence[Callable[[], StopRule]]
) -> tuple[Costs, list[float]]:
    """The prices of what all drafts are made of, and of one decision by each of these rules."""
    comparison = Comparison(pair, typical(prompts), [AUTOREGRESSIVE], sampling)
    comparison.warm_up()
    traces = list[list[Event]]()
    reading, *decided = answers = [Answers() for _ in range(1 + len(deciding))]
    rules: list[Callable[[], StopRule]] = [partial(Threshold, CAP, EVEN_ODDS), *deciding]
    for number, prompt in enumerate(comparison.prompts):
        for turn in range(VARIED):
            traces.append(ruled(comparison, prompt, EveryLength(number * VARIED + turn)))
            if turn in ALONE:
                traces.append(_traced(comparison, prompt))
            if turn == VARIED // 2:
                for rule, given in zip(rules, answers, strict=True):
                    ruled(comparison, prompt, Timed(rule(), given))
    return dataclasses.replace(costs_from(traces), reading=reading.price), [given.price for given in decided]


def typical(prompts: Sequence[Prompt]) -> list[Prompt]:
    """One from the middle of each quarter by length: a verification after a long prompt costs more, so prompts as they
    come would price a set of others too dear or too cheap."""
    by_length, count = sorted(prompts, key=lambda prompt: len(prompt.text)), min(PROMPTS, len(prompts))
    return [by_length[(2 * quarter + 1) * len(prompts) // (2 * count)] for quarter in range(count)]


@dataclass
class EveryLength:
    """A lookahead that is another after every few rounds."""

    turn: int
    reads = False
    look = None
    estimates: Sequence[float] = ()

    def __post_init__(self) -> None:
        changes = islice(cycle(LENGTHS), self.turn, None, STRIDE)
        self._lengths = (length for length in changes for _ in range(KEPT))
        self.lookahead = next(self._lengths)

    def should_stop(self, step: DraftStep) -> bool:
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.lookahead = next(self._lengths)


@dataclass
class Answers:
    """How long a rule took to say whether to stop, ns: after a draft's first token, which finds cold caches, and after
    its later ones."""

    first: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)

    @property
    def price(self) -> float:
        """Seconds a token. Medians, which no busy moment moves far."""
        parts = [part for part in (self.first, self.later) if part]
        return sum(len(part) * statistics.median(part) for part in parts) * 1e-9 / max(1, sum(map(len, parts)))


@dataclass
class Timed:
    """A rule that is timed while it answers: what it takes is too little beside a pass to be read off whole drafts."""

    rule: StopRule
    answers: Answers
    reads = True
    estimates: Sequence[float] = ()

    def __post_init__(self) -> None:
        self.lookahead = self.rule.lookahead
        self.look = self.rule.look

    def should_stop(self, step: DraftStep) -> bool:
        began = time.perf_counter_ns()
        stop = self.rule.should_stop(step)
        took = time.perf_counter_ns() - began
        (self.answers.later if step.ahead else self.answers.first).append(took)
        return stop

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.rule.observe(draft, verdict)


def _traced(comparison: Comparison, prompt: Prompt) -> list[Event]:
    recorder = Recorder()
    comparison.decode(Key(AUTOREGRESSIVE, prompt, 0), recorder)
    return recorder.events


def ruled(comparison: Comparison, prompt: Prompt, rule: StopRule) -> list[Event]:
    """A sample with drafts that this rule stops."""
    pair, sampling, recorder = comparison.pair, comparison.sampling, Recorder()
    dice = dice_for(sampling, pair.vocab, comparison.seed(prompt, 0))
    ends = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    probed = sequence.Sequence(
        prompt=comparison.tokens(prompt),
        max_new_tokens=sampling.max_new_tokens,
        ending=Ending(ends, sampling.stop, pair.tokenizer.decode),
        target=pair.target,
        drafter=ModelDrafter(pair.draft, rule, dice, ends, pair.choosings.of(sampling, rule.look)),
        dice=dice,
        sink=recorder,
        clock=Clock(),
    )
    with torch.inference_mode():
        decode(probed)
    return recorder.events

"""What passes cost on this machine: a few prompts, decoded in the real loop with drafts of every length, in seconds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import torch

from decoding.comparison import Comparison, Key, Pair
from decoding.costs import Costs, costs_from, decision_cost
from decoding.dice import dice_for
from decoding.drafting import Draft, DraftStep, ModelDrafter
from decoding.ending import Ending
from decoding.events import Event, Recorder
from decoding.loop import Request, decode
from decoding.prompts import Prompt
from decoding.spec import Choice, Sampling, choose
from decoding.timing import Clock
from decoding.verify import Verdict

PROMPTS = 4
VARIED = 5  # samples of each prompt with drafts of every length
LENGTHS = (*range(1, 9), *range(1, 9), *range(1, 24))  # so that 1 to 24 rows are verified, and few rows often
STRIDE = 7  # from one length to the next: short and long ones follow each other in any order
AUTOREGRESSIVE = choose("autoregressive")


def samples(prompt_count: int, *, classifiers: int) -> int:
    """How many a probe decodes."""
    return min(PROMPTS, prompt_count) * (1 + VARIED + classifiers)


def probe(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, classifier: str | None = None) -> Costs:
    """What a verification of each number of rows costs, a drafted token, and a classifier's decision, side by side."""
    if classifier is not None:
        return probe_each(pair, prompts, sampling, [classifier])[0]
    return _probed(pair, prompts, sampling, [])[0]


def probe_each(pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, classifiers: Sequence[str]) -> list[Costs]:
    """The same for several classifiers: of one moment, and different in the decision alone."""
    choices = [choose("disco", {"rule": "threshold", "threshold": 0.5, "classifier": name}) for name in classifiers]
    costs, decisions = _probed(pair, prompts, sampling, choices)
    return [dataclasses.replace(costs, decision=decision) for decision in decisions]


def _probed(
    pair: Pair, prompts: Sequence[Prompt], sampling: Sampling, deciding: Sequence[Choice]
) -> tuple[Costs, list[float]]:
    """The prices of what all drafts are made of, and what each of these costs more per drafted token."""
    comparison = Comparison(pair, typical(prompts), [AUTOREGRESSIVE, *deciding], sampling)
    comparison.warm_up()
    one_by_one, varied = list[list[Event]](), list[list[Event]]()
    decided: list[list[list[Event]]] = [[] for _ in deciding]
    for number, prompt in enumerate(comparison.prompts):
        for turn in range(VARIED):
            varied.append(_varied(comparison, prompt, number * VARIED + turn))
            if turn == VARIED // 2:
                one_by_one.append(_traced(comparison, prompt, AUTOREGRESSIVE))
                for traces, choice in zip(decided, deciding, strict=True):
                    traces.append(_traced(comparison, prompt, choice))
    return costs_from(one_by_one + varied), [decision_cost(traces, varied) for traces in decided]


def typical(prompts: Sequence[Prompt]) -> list[Prompt]:
    """One from the middle of each quarter by length: a verification after a long prompt costs more, so prompts as they
    come would price a set of others too dear or too cheap."""
    by_length, count = sorted(prompts, key=lambda prompt: len(prompt.text)), min(PROMPTS, len(prompts))
    return [by_length[(2 * quarter + 1) * len(prompts) // (2 * count)] for quarter in range(count)]


@dataclass
class EveryLength:
    """A lookahead that is another in each round."""

    turn: int
    reads = False
    estimates: Sequence[float] = ()

    def __post_init__(self) -> None:
        self._lengths = islice(cycle(LENGTHS), self.turn, None, STRIDE)
        self.lookahead = next(self._lengths)

    def should_stop(self, step: DraftStep) -> bool:
        return False

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        self.lookahead = next(self._lengths)


def _traced(comparison: Comparison, prompt: Prompt, choice: Choice) -> list[Event]:
    recorder = Recorder()
    comparison.decode(Key(choice, prompt, 0), recorder)
    return recorder.events


def _varied(comparison: Comparison, prompt: Prompt, turn: int) -> list[Event]:
    pair, sampling, recorder = comparison.pair, comparison.sampling, Recorder()
    dice = dice_for(sampling, pair.vocab, comparison.seed(prompt, 0))
    ends = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    request = Request(
        comparison.tokens(prompt), sampling.max_new_tokens, Ending(ends, sampling.stop, pair.tokenizer.decode)
    )
    drafter = ModelDrafter(pair.draft, EveryLength(turn), dice, ends)
    with torch.inference_mode():
        decode(request, pair.target, drafter, dice, recorder, Clock())
    return recorder.events

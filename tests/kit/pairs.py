"""Pairs of table models that write letters, prompts for them, and comparisons of both."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement
from decoding.prompts.prompt import PromptItem
from decoding.vocabularies.fit import PairReport
from tests.kit.table import TableRunner
from tests.kit.worlds import state_of, tables

LETTERS = "abcdefghijkl"
CHOICES = parse_choices("autoregressive,static:3,threshold:0.4,oracle")
PROMPTS = [PromptItem("one", "ab", "x"), PromptItem("two", "c", "y"), PromptItem("three", "dd", "x")]


class Letters:
    """A tokenizer of which every letter is a token."""

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(LETTERS[token] for token in tokens)


def pair(target: TableRunner | None = None, context: int = 4096) -> ModelPair:
    """A target of letters, or another, and a draft that resembles the target."""
    own, draft = tables(len(LETTERS), 7)
    return ModelPair(
        target=target or TableRunner(own, context, state_of),
        draft=TableRunner(draft, context, state_of),
        tokenizer=Letters(),
        end_tokens=frozenset(),
        dtype=torch.float64,
    )


def comparison(sampling: Sampling | None = None, **settings: object) -> Measurement:
    """A comparison of four strategies on three prompts, except for what the settings say."""
    settings = {"pair": pair(), "prompts": PROMPTS, "choices": CHOICES} | settings
    return Measurement(sampling=sampling or Sampling(max_new_tokens=12), **settings)  # type: ignore[arg-type]


SHARED = Sampling(temperature=1.0, max_new_tokens=30)


def prompts(count: int, split: str = "", seed: int = 0) -> list[PromptItem]:
    """Prompts of four random letters."""
    dice = random.Random(seed)
    return [PromptItem(f"{split}{i}", "".join(dice.choices(LETTERS, k=4)), split=split) for i in range(count)]


ALL = prompts(40, "train", 1) + prompts(20, "validation", 2) + prompts(20, "test", 3)


def sentences(report: PairReport) -> list[str]:
    """Return what is said of a pair, worst first."""
    levels = ("misfit", "remark", "fits")
    return [found.sentence for found in sorted(report.findings, key=lambda found: levels.index(found.level))]

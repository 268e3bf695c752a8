"""Exact chances of a text under ratio dice: every way in which the coins that decide about it can fall, added up.

`chance.uniform` gives each coin: a number in [0, 1) for a seed, a role and a context. Here the coins of the contexts
that the text runs through are *open*: each is an interval, and every question that the engine asks (which token, or
whether it is accepted) splits it. A run answers all questions in one way; its weight is the product of the shares that
the answers took. The weights of the runs that write the text add up to its chance, which must be the target's. All
other coins stay as the engine throws them, since a text's chance may not depend on them. So a few hundred runs prove
what thousands of draws only make likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from decoding.backends.registry import Parts
from decoding.choice import Choice, choose
from decoding.core.sequence import Drafter
from decoding.dice import chance, dice, verify
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.source import Source
from tests.kit.worlds import World

Key = tuple[str, int]  # role, and digest of the context
THIN = 1e-12  # narrower parts of a coin are rounding
NEAR = 1e-6  # how near the end of a part its number lies, in shares of the part
MOST_RUNS = 20_000


class Coins:
    """The open coins of one run. The first questions are answered as told, and all others by their first part; `others`
    are runs with other answers to these."""

    def __init__(self, answers: Sequence[int]) -> None:
        self.others: list[list[int]] = []
        self._answers = [*answers]
        self._asked = 0
        self._parts: dict[Key, tuple[float, float]] = {}

    @property
    def weight(self) -> float:
        found = 1.0
        for low, high in self._parts.values():
            found *= high - low
        return found

    def number(self, key: Key) -> float:
        """Return a number near one end of the coin's part, so that a bound that lies a little elsewhere is noticed."""
        low, high = self._parts.get(key, (0.0, 1.0))
        return low + (high - low) * (NEAR if key[1] & 1 else 1.0 - NEAR)

    def split(self, key: Key, cuts: Sequence[float]) -> None:
        """Let the next answer say in which part of the coin the number lies."""
        low, high = self._parts.get(key, (0.0, 1.0))
        edges = [low, *(cut for cut in cuts if low < cut < high), high]
        parts = [(start, end) for start, end in pairwise(edges) if end - start > THIN]
        if len(parts) > 1:
            self._parts[key] = parts[self._answer(len(parts))]

    def _answer(self, count: int) -> int:
        if self._asked == len(self._answers):
            self.others += [[*self._answers, number] for number in range(1, count)]
            self._answers.append(0)
        self._asked += 1
        return self._answers[self._asked - 1]


@dataclass(frozen=True)
class Coin:
    coins: Coins
    key: Key

    def split(self, cuts: Sequence[float]) -> float:
        self.coins.split(self.key, cuts)
        return float(self)

    def __float__(self) -> float:
        return self.coins.number(self.key)

    def __mul__(self, factor: float) -> Scaled:
        return Scaled(self, factor)


@dataclass(frozen=True)
class Scaled:
    """A coin times a number, which is then compared, or cut down to a whole number."""

    coin: Coin
    factor: float

    def __lt__(self, other: float) -> bool:
        return self.coin.split([other / self.factor] if self.factor > 0 else []) * self.factor < other

    def __int__(self) -> int:
        return int(self.coin.split([number / self.factor for number in range(1, int(self.factor))]) * self.factor)


@contextmanager
def opened(coins: Coins, seed: int, contexts: frozenset[int]) -> Iterator[None]:
    """Open the coins of these contexts while a run is made."""
    throw, each, ratio = chance.uniform, verify.choose_each, verify.by_ratio

    def uniform(own: int, role: chance.Role, context: int) -> float | Coin:
        return Coin(coins, (role, context)) if own == seed and context in contexts else throw(own, role, context)

    def choose_each(weights: Tensor, units: Sequence[float | Coin]) -> Tensor:
        shares = weights.double().cumsum(-1) / weights.double().sum(-1, keepdim=True)
        return each(weights, [_number(unit, row[:-1]) for unit, row in zip(units, shares.tolist(), strict=True)])

    def by_ratio(p: Tensor, q: Tensor, draft: Sequence[int], accept: Sequence[float | Coin], resample: Sequence[float]):  # type: ignore[no-untyped-def]
        for number, (coin, token) in enumerate(zip(accept, draft, strict=True)):
            likely, drawn = float(p[number, token]), float(q[number, token])
            if not _number(coin, [likely / drawn] if drawn > 0 else []) * drawn < likely:
                break
        return ratio(p, q, draft, [*map(float, accept)], resample)

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(chance, "uniform", uniform)
        patching.setattr(verify, "choose_each", choose_each)
        patching.setattr(dice, "choose_each", choose_each)
        patching.setattr(dice, "by_ratio", by_ratio)
        yield


def _number(coin: float | Coin, cuts: Sequence[float]) -> float:
    return coin.split(cuts) if isinstance(coin, Coin) else coin


def chance_of(text: Sequence[int], prompt: Sequence[int], seed: int, run: Callable[[], Sequence[int]]) -> float:
    """Return the chance that `run` writes this text, or a longer one that begins with it."""
    contexts = frozenset(chance.digest([*prompt, *text[:count]]) for count in range(len(text)))
    due, found = [list[int]()], 0.0
    for _ in range(MOST_RUNS):
        coins = Coins(due.pop())
        with opened(coins, seed, contexts):
            written = run()
        if [*written[: len(text)]] == [*text]:
            found += coins.weight
        due += coins.others
        if not due:
            return found
    raise AssertionError(f"more than {MOST_RUNS:,} runs: take fewer tokens, or a smaller vocabulary")


def check_chances(
    world: World,
    make: Choice | Callable[[Parts], Source | Drafter],
    prompt: Sequence[int],
    sampling: Sampling,
) -> None:
    """Assert that some texts of 3 tokens are as likely as the target makes them."""
    rows = lambda text: world.target.table[world.target.state_of(text)]  # type: ignore[attr-defined]  # noqa: E731
    for seed in range(3):
        text = world.run(choose("autoregressive"), prompt, sampling, seed)[0].tokens[:3]
        found = chance_of(text, prompt, seed, lambda seed=seed: world.run(make, prompt, sampling, seed)[0].tokens)  # type: ignore[misc]
        assert found == pytest.approx(targets_chance(text, prompt, sampling, rows, world.vocab), abs=1e-7)


def targets_chance(
    text: Sequence[int], prompt: Sequence[int], sampling: Sampling, rows: Callable[[Sequence[int]], Tensor], vocab: int
) -> float:
    """Return the chance that the target alone writes this text. `rows` gives its logits after a text."""
    thrown, found = dice_for(sampling, vocab, 0), 1.0
    thrown.commit(prompt)
    for count, token in enumerate(text):
        scores = thrown.scores(rows([*prompt, *text[:count]])[None], [()])
        found *= float(torch.softmax(scores.double(), -1)[0, token])
        thrown.commit([token])
    return found

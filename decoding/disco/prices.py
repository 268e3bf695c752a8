"""Prices of a classifier: the thresholds at which its rules stop, by its card and by the passes of the run that uses
it. Standard library only."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log, log1p, sqrt
from typing import Any

from decoding.disco.cards import threshold_of
from decoding.replay.costs import Costs
from decoding.words import change, percent

PRICED, COPIED = "priced", "copied"  # rules whose threshold is a price: of a drafted token, and of a copied one
SWEPT = {COPIED: "disco-suffix"}  # strategies whose threshold a card's sweep of a rule moves; else `disco`
DOUBT = 0.15  # the least of any weighing. Within it the card's price stays in use, so runs can be repeated
STEPS = 8  # a price depends on the tokens per second, and they depend on it
LEAST, MOST = 0.01, 1.0


@dataclass(frozen=True)
class Price:
    """One rule's price, in tokens."""

    card: float
    run: float  # by the passes that the run weighed
    doubt: float  # share by which the two may differ by noise alone

    @property
    def is_own(self) -> bool:
        """Whether the run uses its own price."""
        return abs(log(self.run / self.card)) > log1p(self.doubt)

    @property
    def used(self) -> float:
        return self.run if self.is_own else self.card

    @property
    def sentence(self) -> str:
        used, side = ("its own price", "more than") if self.is_own else ("the card's price", "within")
        return (
            f"one more token costs {self.card:.2f} tokens by the classifier's card and {self.run:.2f} by the passes of "
            f"this run. {change(self.run / self.card)} is {side} the doubt of {percent(self.doubt)}, so it used {used}."
        )


@dataclass(frozen=True)
class Prices:
    """Prices of one classifier in one run."""

    rules: Mapping[str, Price]
    costs: Mapping[str, Any]  # of `Costs`, as the run weighed them

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Prices:
        rules = {rule: Price(**price) for rule, price in stored["rules"].items()}
        return cls(rules, {**stored["costs"], "target": tuple(stored["costs"]["target"])})

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {rule: dataclasses.asdict(price) for rule, price in self.rules.items()},
            "costs": {**self.costs, "target": list(self.costs["target"])},
        }

    @property
    def own_costs(self) -> Mapping[str, Any] | None:
        """Costs of this run, if it uses its own price of a drafted token."""
        return self.costs if PRICED in self.rules and self.rules[PRICED].is_own else None


def prices_at(
    card: Mapping[str, Any], costs: Costs, turns: Sequence[Costs] = (), rules: Sequence[str] = (PRICED, COPIED)
) -> Prices | None:
    """Return the prices at these costs; None if the card does not say at which costs it made its own. `turns` are costs
    by parts of the same passes: the more their prices differ, the more doubt there is."""
    tariff = Tariff.of(card)
    if tariff is None:
        return None
    whole, *parts = (tariff.with_decision(each) for each in (costs, *turns))
    found = {}
    for rule in (rule for rule in rules if (card["thresholds"].get(rule) or 0) > 0):
        price = tariff.drafted if rule == PRICED else tariff.copied
        found[rule] = Price(card["thresholds"][rule], price(whole), _doubt([price(part) for part in parts]))
    return Prices(found, dataclasses.asdict(whole))


def about(stored: Mapping[str, Any] | None, rule: str) -> dict[str, Any] | None:
    """Describe the price that a strategy used, from what a run has stored of its classifier's; None if not known."""
    price = Prices.from_dict(stored).rules.get(rule) if stored else None
    if price is None:
        return None
    return {**dataclasses.asdict(price), "is_own": price.is_own, "used": price.used, "sentence": price.sentence}


def threshold_in(card: Mapping[str, Any], prices: Prices | None, rule: str) -> float:
    """Return the threshold of a rule: the run's own price where that is in use, otherwise the card's."""
    return prices.rules[rule].used if prices and rule in prices.rules else threshold_of(card, rule)


@dataclass(frozen=True)
class Tariff:
    """Derives a card's prices from costs. Its sweep tells what rounds look like at each threshold, so nothing is
    replayed."""

    costs: Costs
    thresholds: Mapping[str, float]
    points: Sequence[tuple[float, float, float]]  # threshold, drafted and accepted tokens per round, rising

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Tariff | None:
        try:
            costs = Costs(**card["costs"])
            rows = [(p["threshold"], p["drafted"], p["accepted"]) for p in card["sweep"][PRICED]]
            made = cls(costs, card["thresholds"], sorted(rows))
            is_usable = min(made.thresholds[PRICED], costs.draft, costs.row(), made.worth(costs, MOST)) > 0
        except (KeyError, TypeError, IndexError, ZeroDivisionError):
            return None  # it is older than the sweep, or made by hand
        return made if is_usable else None

    def drafted(self, costs: Costs) -> float:
        """Price of a token that the draft model drafts."""
        card = self.thresholds[PRICED]
        before, price = self.worth(self.costs, card) * _toll(self.costs), card
        for _ in range(STEPS):
            price = _bounded(card * self.worth(costs, price) * _toll(costs) / before)
        return price

    def copied(self, costs: Costs) -> float:
        """Price of a copied token: its row of the verification."""
        before = self.costs.row() / self.costs.verify(1)
        return _bounded(self.thresholds[COPIED] * costs.row() / costs.verify(1) / before)

    def worth(self, costs: Costs, threshold: float) -> float:
        """Tokens per second of the priced rule at this threshold."""
        drafted, accepted = self._round(threshold)
        whole = int(drafted)
        verify = costs.verify(whole + 1) + (drafted - whole) * (costs.verify(whole + 2) - costs.verify(whole + 1))
        rest = costs.round + costs.draft_round + (accepted + 1) * costs.token
        return (accepted + 1) / (verify + rest + drafted * (costs.draft + costs.decision))

    def with_decision(self, costs: Costs) -> Costs:
        """Add the price of a decision, if it was not measured: the same share of a drafted token as on the card."""
        if costs.decision:
            return costs
        return dataclasses.replace(costs, decision=self.costs.decision * costs.draft / self.costs.draft)

    def _round(self, threshold: float) -> tuple[float, float]:
        """Tokens drafted and accepted in a round at this threshold."""
        low = max((p for p in self.points if p[0] <= threshold), default=self.points[0])
        high = min((p for p in self.points if p[0] >= threshold), default=self.points[-1])
        share = (threshold - low[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
        return low[1] + share * (high[1] - low[1]), low[2] + share * (high[2] - low[2])


def _toll(costs: Costs) -> float:
    """Seconds of one more drafted token: draft it, decide, verify one more row."""
    return costs.draft + costs.decision + costs.row()


def _bounded(price: float) -> float:
    return min(max(price, LEAST), MOST)


def _doubt(parts: Sequence[float]) -> float:
    """Two standard errors of the price, by those of its parts."""
    if len(parts) < 2:
        return DOUBT
    return max(DOUBT, expm1(2 * statistics.stdev(map(log, parts)) / sqrt(len(parts))))

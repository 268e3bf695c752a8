"""Prices of a classifier: the thresholds at which its rules stop, by its card and by the passes of the run that uses
it. Standard library only."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log, log1p, sqrt
from typing import Any

from decoding.errors import BadStrategy
from decoding.prices.cost_model import CostModel, Line, on_line
from decoding.words import change, percent

PRICED, COPIED = "priced", "copied"  # rules whose threshold is a price: of a drafted token, and of a copied one
DOUBT = 0.15  # the least of any weighing. Within it the card's price stays in use, so runs can be repeated
STEPS = 8  # a price depends on the tokens per second, and they depend on it
LEAST, MOST = 0.01, 1.0


@dataclass(frozen=True)
class RulePrice:
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
    """Prices of one classifier in one run: in tokens, where a `CostModel`, from which they follow, has seconds."""

    rules: Mapping[str, RulePrice]
    costs: Mapping[str, Any]  # of `CostModel`, as the run weighed them

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Prices:
        rules = {rule: RulePrice(**price) for rule, price in stored["rules"].items()}
        return cls(rules, stored["costs"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": {rule: dataclasses.asdict(price) for rule, price in self.rules.items()},
            "costs": dict(self.costs),
        }

    @property
    def own_costs(self) -> Mapping[str, Any] | None:
        """Costs of this run, if it uses its own price of a drafted token."""
        return self.costs if PRICED in self.rules and self.rules[PRICED].is_own else None


def prices_at(
    card: Mapping[str, Any], costs: CostModel, turns: Sequence[CostModel] = (), rules: Sequence[str] = (PRICED, COPIED)
) -> Prices | None:
    """Return the prices at these costs; None if the card does not say at which costs it made its own. `turns` are costs
    by parts of the same passes: the more their prices differ, the more doubt there is."""
    tariff = Tariff.of(card)
    if tariff is None:
        return None
    whole, *parts = (tariff.with_decision(each) for each in (costs, *turns))
    found = {}
    for rule in (rule for rule in rules if rule in tariff.thresholds):
        price = tariff.drafted if rule == PRICED else tariff.copied
        found[rule] = RulePrice(tariff.thresholds[rule], price(whole), _doubt([price(part) for part in parts]))
    return Prices(found, whole.for_one())


def about(stored: Mapping[str, Any] | None, rule: str) -> dict[str, Any] | None:
    """Describe the price that a strategy used, from what a run has stored of its classifier's; None if not known."""
    price = Prices.from_dict(stored).rules.get(rule) if stored else None
    if price is None:
        return None
    return {**dataclasses.asdict(price), "is_own": price.is_own, "used": price.used, "sentence": price.sentence}


def threshold_in(card: Mapping[str, Any], prices: Prices | None, rule: str) -> float:
    """Return the threshold of a rule: the run's own price where that is in use, otherwise the one that replay found
    best when the classifier was made."""
    if prices and rule in prices.rules:
        return prices.rules[rule].used
    thresholds = card.get("thresholds") or {}
    if rule not in thresholds:
        raise BadStrategy(
            f"The classifier's card tells no threshold for the rule {rule}. Set `threshold`, or train a classifier "
            "again."
        )
    return float(thresholds[rule])


@dataclass(frozen=True)
class Tariff:
    """Derives a card's prices from costs. Its sweep tells what rounds look like at each threshold, so nothing is
    replayed. A copied token's price needs no sweep: a classifier of a target alone has no drafted tokens."""

    costs: CostModel
    thresholds: Mapping[str, float]  # the card's prices, by rule, as far as they can be derived
    drafts: Line  # (threshold, drafted tokens per round)
    accepts: Line  # (threshold, accepted tokens per round)

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Tariff | None:
        try:
            costs = CostModel.from_dict(card["costs"])
            sweep = (card.get("sweep") or {}).get(PRICED) or ()
            rows = sorted((p["threshold"], p["drafted"], p["accepted"]) for p in sweep)
            prices = {rule: price for rule in (PRICED, COPIED) if (price := card["thresholds"].get(rule) or 0) > 0}
            made = cls(
                costs, prices, [(at, tokens) for at, tokens, _ in rows], [(at, tokens) for at, _, tokens in rows]
            )
            if not rows or min(costs.draft(1), made.worth(costs, MOST)) <= 0:
                prices.pop(PRICED, None)
            return made if prices and costs.row() > 0 else None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
            return None  # it is older than its costs, or made by hand

    def drafted(self, costs: CostModel) -> float:
        """Price of a token that the draft model drafts."""
        card = self.thresholds[PRICED]
        before, price = self.worth(self.costs, card) * _toll(self.costs), card
        for _ in range(STEPS):
            price = _bounded(card * self.worth(costs, price) * _toll(costs) / before)
        return price

    def copied(self, costs: CostModel) -> float:
        """Price of a copied token: its row of the verification."""
        before = self.costs.row() / self.costs.verify(1, 1)
        return _bounded(self.thresholds[COPIED] * costs.row() / costs.verify(1, 1) / before)

    def worth(self, costs: CostModel, threshold: float) -> float:
        """Tokens per second of the priced rule at this threshold."""
        within = min(max(threshold, self.drafts[0][0]), self.drafts[-1][0])
        drafted, accepted = on_line(self.drafts, within), on_line(self.accepts, within)
        rest = costs.fixed(1) + costs.beginning(1) + (accepted + 1) * costs.token
        drafting = drafted * (costs.draft(1) + costs.decision)
        return (accepted + 1) / (costs.verify(1, drafted + 1) + rest + drafting)

    def with_decision(self, costs: CostModel) -> CostModel:
        """Add the price of a decision, if it was not measured: the same share of a drafted token as on the card."""
        if costs.decision or not self.costs.draft(1):
            return costs
        return dataclasses.replace(costs, decision=self.costs.decision * costs.draft(1) / self.costs.draft(1))


def _toll(costs: CostModel) -> float:
    """Seconds of one more drafted token: draft it, decide, verify one more row."""
    return costs.draft(1) + costs.decision + costs.row()


def _bounded(price: float) -> float:
    return min(max(price, LEAST), MOST)


def _doubt(parts: Sequence[float]) -> float:
    """Two standard errors of the price, by those of its parts."""
    if len(parts) < 2:
        return DOUBT
    return max(DOUBT, expm1(2 * statistics.stdev(map(log, parts)) / sqrt(len(parts))))

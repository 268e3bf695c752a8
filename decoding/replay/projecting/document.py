"""The document of a projection: every strategy on a machine card, and the map "draft price x acceptance -> best
strategy" with the pair as a point on it.

The texts of the map are this pair's, with their acceptance changed. The draft's price is a share of the target's for
one row; the card's draft steps are scaled to it. One text at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from decoding.backends.misfit import misfit
from decoding.choice import Choice
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.prices.machine_card import Card
from decoding.replay.planning import AUTOREGRESSIVE, Prediction
from decoding.replay.planning_ahead import spread
from decoding.replay.projecting.projecting import ProjectionInputs, as_dict, project
from decoding.replay.projecting.texts import acceptance, with_acceptance
from decoding.strategies import BASELINE

FORMAT = "drafthouse.projection/1"
PRICES = (0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.6)
ACCEPTANCES = (0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.96)
TRIED = 6  # settings of a strategy in each field
PROJECTING, MAPPING = "projecting", "drawing the map"

OnProgress = Callable[[str, int, int], None]


def document(
    material: ProjectionInputs,
    card: Card,
    sampling: Sampling,
    *,
    on_progress: OnProgress = lambda phase, done, due: None,
    cancelled: Callable[[], bool] = never,
) -> dict[str, Any]:
    """Project, and draw the map. A pair without a draft has none: the map is of the draft's price and acceptance."""
    fixes_the_text, classifier = sampling.fixes_the_text, material.classifier
    rows = project(
        material,
        card,
        fixes_the_text=fixes_the_text,
        on_progress=lambda done, due: on_progress(PROJECTING, done, due),
        cancelled=cancelled,
    )
    drawn = None
    if not material.is_undrafted:
        fields = draw_map(
            material,
            card,
            fixes_the_text=fixes_the_text,
            on_progress=lambda done, due: on_progress(MAPPING, done, due),
            cancelled=cancelled,
        )
        price, own = pair_on(material, card)
        drawn = {"fields": [asdict(field) for field in fields], "pair": {"price": price, "acceptance": own}}
    return {
        "format": FORMAT,
        "label": "simulated",
        "card": card.to_dict(),
        "context": {**card.costs.about_context, "texts": material.context},
        "settings": [as_dict(row) for row in rows],
        "left_out": material.left_out(fixes_the_text),
        "misfit": misfit("This projection", classifier.card, sampling) if classifier else "",
        "map": drawn,
    }


@dataclass(frozen=True)
class Field:
    """One field of the map: the best strategy there, and each strategy's best speed-up."""

    price: float
    acceptance: float
    best: str
    label: str
    speedups: Mapping[str, float]


def pair_on(material: ProjectionInputs, card: Card) -> tuple[float, float]:
    """Draft price and acceptance of the pair itself on this card."""
    return card.costs.draft(1) / card.costs.verify(1, 1), acceptance(material.texts)


def draw_map(
    material: ProjectionInputs,
    card: Card,
    *,
    fixes_the_text: bool = True,
    on_progress: Callable[[int, int], None] = lambda done, due: None,
    cancelled: Callable[[], bool] = never,
) -> list[Field]:
    due, found = len(PRICES) * len(ACCEPTANCES), list[Field]()
    cards = {price: material.on(priced(card, price)) for price in PRICES}
    for wanted in ACCEPTANCES:
        there = replace(material, texts=with_acceptance(material.texts, wanted))
        settings = {slug: spread(choices, TRIED) for slug, choices in there.settings(fixes_the_text).items()}
        for price, at_price in cards.items():
            if cancelled():
                return found
            found.append(_field(there, at_price, settings, price, wanted))
            on_progress(len(found), due)
    return found


def _field(
    material: ProjectionInputs, card: Card, settings: Mapping[str, Sequence[Choice]], price: float, wanted: float
) -> Field:
    undrafted = material.speed(AUTOREGRESSIVE, card, 1)
    best = {BASELINE: Prediction(AUTOREGRESSIVE, undrafted, 1.0)}
    for choice in itertools.chain(*settings.values()):
        speed = material.speed(choice, card, 1)
        if choice.strategy not in best or speed > best[choice.strategy].tokens_per_s:
            best[choice.strategy] = Prediction(choice, speed, speed / undrafted)
    first = max(best.values(), key=lambda prediction: prediction.speedup)
    speedups = {slug: prediction.speedup for slug, prediction in best.items()}
    return Field(price, wanted, first.choice.strategy, first.choice.label, speedups)


def priced(card: Card, share: float) -> Card:
    """The card with a draft whose step of one row costs this share of the target's."""
    return replace(card, costs=card.costs.with_drafting(share * card.costs.verify(1, 1) / card.costs.draft(1)))

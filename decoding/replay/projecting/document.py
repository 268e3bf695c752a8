"""The document of a projection: every strategy on a machine card, and the map of the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from decoding.backends.misfit import misfit
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.prices.machine_card import Card
from decoding.replay.projecting.best_map import as_dict as map_as_dict
from decoding.replay.projecting.best_map import draw_map, pair_on
from decoding.replay.projecting.projecting import ProjectionInputs, as_dict, project

FORMAT = "drafthouse.projection/1"
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
        drawn = map_as_dict(fields, pair_on(material, card))
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

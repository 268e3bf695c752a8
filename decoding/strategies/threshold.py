"""Stop drafting when the draft is unsure of its own token."""

from collections.abc import Iterator

from decoding.drafting.engine_settings import llama_cpp, transformers
from decoding.drafting.params import Param
from decoding.drafting.source import Chain, Sight
from decoding.drafting.strategy import CAP, LONGEST, EngineSetting, Looks, Settings, Slider, Strategy


class Unsure(Chain):
    """Stop after a token whose draft probability is below the threshold."""

    sees: Sight = "confidence"

    def __init__(self, threshold: float, cap: int) -> None:
        super().__init__(cap)
        self.threshold = threshold

    def stops(self, seen: float) -> bool:
        return seen < self.threshold


def _grid() -> Iterator[Settings]:
    return ({"threshold": step / 20, "cap": cap} for step in range(1, 20) for cap in (8, LONGEST))


def _exports(params: Settings) -> Iterator[EngineSetting]:
    cap, threshold = int(params["cap"]), float(params["threshold"])
    yield transformers(cap, threshold)
    yield llama_cpp(cap, threshold)


STRATEGY = Strategy(
    slug="threshold",
    title="Threshold",
    summary="Drafting stops after a token whose draft probability is below the threshold.",
    role="ranked",
    order=4,
    looks=Looks("◆", "M0,-8.5L8.5,0L0,8.5L-8.5,0Z", "#4b4fc4", "#8290ff", 62),
    params=(
        Param("threshold", "float", 0.4, "stop below this probability", 0.0, 1.0),
        Param("cap", "int", 20, CAP, 1, 64),
    ),
    source=lambda given, threshold, cap: Unsure(threshold, cap),
    grid=_grid,
    exports=_exports,
    demo=({},),
    sliders=(Slider("threshold", 0.05, 0.95, 0.05), Slider("cap", 1, LONGEST)),
)

"""SSD where DISCO's classifier decides."""

from collections.abc import Iterator
from typing import Any

from decoding.drafting.params import Param, Value
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.drafting.strategy import CAP, CLASSIFIER, Looks, Settings, Strategy
from decoding.strategies.ssd import AUTO, BRANCHES, PLACEMENT, counted, near


def _speculates(cap: int, branches: Value, backup: WantedBackup, **_: Any) -> SpeculatorSettings:
    return SpeculatorSettings(lookahead=cap, branches=counted(branches), backup=backup)


def _grid() -> Iterator[Settings]:
    return ({"cap": cap, "branches": branches} for cap in (4, 8, 12) for branches in (3, 6, AUTO, 12))


def _finer(best: Settings) -> Iterator[Settings]:
    cap = int(best["cap"])
    yield from ({**best, "cap": each} for each in (cap - 1, cap + 2))
    yield from near(best)
    yield {**best, "backup": "copy"}


STRATEGY = Strategy(
    slug="ssd-disco",
    title="SSD with DISCO",
    summary="SSD where the trained classifier says which outcomes are prepared, how deep, and how much is verified.",
    role="ranked",
    order=8,
    looks=Looks("◀", "M-9,0L4.5,-7.8L4.5,7.8Z", "#d55e00", "#ee7e3a", 166),
    params=(
        Param("cap", "int", 8, CAP, 1, 64),
        BRANCHES,
        Param(
            "backup",
            "choice",
            "neural",
            "what drafts after a miss: the draft model (neural), or a copy of what followed the longest repeated "
            "context (copy: the model where no copy is sure)",
            choices=("neural", "copy"),
        ),
        CLASSIFIER,
        PLACEMENT,
    ),
    price_rule=lambda params: "priced",
    speculates=_speculates,
    grid=_grid,
    finer=_finer,
    demo=({},),
)

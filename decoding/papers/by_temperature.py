"""SSD with either fan-out beside a static lookahead, run at several temperatures."""

from __future__ import annotations

from decoding.choice import Choice, choose
from decoding.papers.settings import BRANCHES_EACH
from decoding.strategies import ssd

FAN_OUTS = ("uniform", "geometric")


def phase(temperature: float) -> str:
    return f"running SSD at temperature {temperature:g}"


def ahead(lookahead: int, fan_out: str) -> Choice:
    branches = BRANCHES_EACH * (lookahead + 1)
    return choose(
        ssd.STRATEGY.slug, {"lookahead": lookahead, "branches": branches, "fanout": fan_out, "backup": "neural"}
    )

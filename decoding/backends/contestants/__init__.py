"""Contestants: programs that decode requests. Each is one module here, which also holds the strategies that it runs.

Importing a contestant loads neither torch nor transformers, so that the web process can read its strategies.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from decoding.scan import modules_in

if TYPE_CHECKING:
    from decoding.drafting.strategy import Strategy

OURS = "decoding.backends.ours"  # loads torch, so it is no plug-in
PARTS = {
    "SPECS": "the strategies that it runs, a tuple of Strategy",
    "contestant": "a function that makes the Contestant for a Pair",
}


@cache
def modules() -> list[ModuleType]:
    """All contestants' modules, in the order of their names."""
    return modules_in(sys.modules[__name__], PARTS)


def specs() -> tuple[Strategy, ...]:
    return tuple(spec for module in modules() for spec in module.SPECS)


def runs(strategy: str) -> ModuleType:
    """Return the contestant that runs the strategy. Ours runs those of `decoding.strategies`."""
    carriers = {spec.slug: module for module in modules() for spec in module.SPECS}
    return carriers.get(strategy) or import_module(OURS)

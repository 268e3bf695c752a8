"""Every strategy: ours, one module each in this package, and those that other contestants run. To add one, add a file:
docs/extending.md shows how.

`DRAFTHOUSE_STRATEGIES` names further folders with such files, separated as in PATH.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from decoding import contestants
from decoding.errors import BadStrategyModule
from decoding.scan import modules_in
from decoding.strategy import Strategy

PARTS = {"STRATEGY": "a Strategy(…)"}

__path__ += [folder for folder in os.environ.get("DRAFTHOUSE_STRATEGIES", "").split(os.pathsep) if folder]


def _strategy(module: ModuleType) -> Strategy:
    found, name = module.STRATEGY, module.__name__.rpartition(".")[2]
    if not isinstance(found, Strategy):
        raise BadStrategyModule(f"{module.__name__} lacks STRATEGY, a Strategy(…).")
    if found.slug.replace("-", "_") != name:
        raise BadStrategyModule(f"{module.__name__} has the slug {found.slug!r}; name both alike.")
    if not found.policy and not found.build:
        raise BadStrategyModule(f"{module.__name__} lacks a policy, or a build of its own.")
    return found


_ALL = [*map(_strategy, modules_in(sys.modules[__name__], PARTS)), *contestants.specs()]
STRATEGIES: dict[str, Strategy] = {each.slug: each for each in sorted(_ALL, key=lambda each: (each.order, each.slug))}
[BASELINE] = [slug for slug, strategy in STRATEGIES.items() if strategy.role == "baseline"]

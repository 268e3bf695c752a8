"""Every strategy: ours, one module each in this package, and those that other contestants run. To add one, add a file:
docs/extending.md shows how.

`DRAFTHOUSE_STRATEGIES` names further folders with such files, separated as in PATH.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from decoding.backends import contestants
from decoding.drafting.strategy import Strategy
from decoding.errors import BadStrategyModule
from decoding.scan import modules_in

PARTS = {"STRATEGY": "a Strategy(…)"}

for folder in filter(None, os.environ.get("DRAFTHOUSE_STRATEGIES", "").split(os.pathsep)):
    if not Path(folder).is_dir():
        raise BadStrategyModule(
            f"DRAFTHOUSE_STRATEGIES names {folder}, which is not a folder. Correct it or leave it out."
        )
    known = {module.name for module in iter_modules(__path__)}
    for module in iter_modules([folder]):
        if module.name in known:  # Python would import the first file and never see yours
            raise BadStrategyModule(f"Two strategies are called {module.name!r}; rename the file and slug of yours.")
    __path__.append(folder)


def _strategy(module: ModuleType) -> Strategy:
    found, name = module.STRATEGY, module.__name__.rpartition(".")[2]
    if not isinstance(found, Strategy):
        raise BadStrategyModule(f"{module.__name__} lacks STRATEGY, a Strategy(…).")
    if found.slug.replace("-", "_") != name:
        raise BadStrategyModule(f"{module.__name__} has the slug {found.slug!r}; name both alike.")
    if not (found.source or found.speculates):
        raise BadStrategyModule(f"{module.__name__} lacks a source of drafts.")
    return found


class Strategies(dict[str, Strategy]):
    """Strategies by slug. The slug of an earlier version finds the strategy that has taken over."""

    def __missing__(self, slug: str) -> Strategy:
        return self[FORMER[slug][0]]


def _only(strategies: Iterable[Strategy]) -> Strategies:
    """Put them in order by slug. Two of one name would hide one another."""
    found = Strategies()
    for each in sorted(strategies, key=lambda each: (each.order, each.slug)):
        if each.slug in found:
            raise BadStrategyModule(f"Two strategies are called {each.slug!r}; rename the file and slug of yours.")
        found[each.slug] = each
    return found


def _baseline() -> str:
    slugs = [slug for slug, strategy in STRATEGIES.items() if strategy.role == "baseline"]
    if len(slugs) > 1:
        raise BadStrategyModule(f"{' and '.join(slugs)} are each the baseline; give yours the role ranked.")
    return slugs[0]


STRATEGIES = _only([*map(_strategy, modules_in(sys.modules[__name__], PARTS)), *contestants.specs()])
FORMER = {former.slug: (slug, former) for slug, strategy in STRATEGIES.items() for former in strategy.formerly}
BASELINE = _baseline()


def current(slug: str, params: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Translate a strategy of an earlier version, and its parameters, to the one that has taken over."""
    if slug not in FORMER:
        return slug, params
    now, former = FORMER[slug]
    return now, former.now(params)

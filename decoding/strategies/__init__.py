"""Every strategy, one module each. To add one, add a file: docs/extending.md shows how.

`DRAFTHOUSE_STRATEGIES` names further folders with such files, separated as in PATH.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator

from decoding.errors import BadStrategyModule
from decoding.strategies.base import Strategy

__path__ += [folder for folder in os.environ.get("DRAFTHOUSE_STRATEGIES", "").split(os.pathsep) if folder]


def _modules() -> Iterator[str]:
    return (found.name for found in pkgutil.iter_modules(__path__) if found.name != "base")


def _load(name: str) -> Strategy:
    """Import one module; a part that it lacks is named."""
    try:
        module = importlib.import_module(f"{__name__}.{name}")
    except (TypeError, SyntaxError, ImportError) as error:
        raise BadStrategyModule(f"The strategy module {name}.py cannot be used: {error}.") from error
    strategy = getattr(module, "STRATEGY", None)
    if not isinstance(strategy, Strategy):
        raise BadStrategyModule(f"The strategy module {name}.py lacks STRATEGY, a Strategy(…).")
    if strategy.slug.replace("-", "_") != name:
        raise BadStrategyModule(f"The strategy module {name}.py has the slug {strategy.slug!r}; name both alike.")
    if strategy.role != "peer" and not strategy.policy and not strategy.build:
        raise BadStrategyModule(f"The strategy module {name}.py lacks a policy, or a build of its own.")
    return strategy


STRATEGIES: dict[str, Strategy] = {
    each.slug: each for each in sorted(map(_load, _modules()), key=lambda each: (each.order, each.slug))
}

[BASELINE] = [slug for slug, strategy in STRATEGIES.items() if strategy.role == "baseline"]

"""A target alone: a pair without a draft model. Says which strategies can run then, and why the others cannot.

Standard library only, because the web process uses it.
"""

from __future__ import annotations

from decoding.choice import Choice, choose
from decoding.strategies import STRATEGIES


def runnable() -> list[str]:
    """List the strategies that need no draft model."""
    return [slug for slug, strategy in STRATEGIES.items() if not strategy.needs_draft]


def usual() -> list[Choice]:
    """Choices that a new comparison of a target alone begins with: there are few, so each strategy takes part that
    needs no training before."""
    able = (STRATEGIES[slug] for slug in runnable() if STRATEGIES[slug].role in ("baseline", "ranked"))
    choices = (choose(each.slug, params) for each in able for params in each.usual or ({},))
    return [choice for choice in choices if choice.classifier is None]


def lacks_draft(what: str) -> str:
    return f"{what} needs a draft model, and this pair has none."


def why_not(label: str) -> str:
    """Refuse a strategy that needs a draft model."""
    return f"{lacks_draft(label)} Without a draft, {those_that_run()} can run."


def those_that_run() -> str:
    """Name the strategies that need no draft model, for a sentence."""
    *first, last = runnable()
    return f"{', '.join(first)} and {last}" if first else f"only {last}"

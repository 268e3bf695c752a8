"""Reasons why what-if cannot answer a question."""

from __future__ import annotations

from collections.abc import Collection

from decoding.public import (
    BASELINE,
    STRATEGIES,
    Choice,
    RecordedComparison,
    Sampling,
    Strategy,
    choose,
    lacks_scores,
    without_draft,
)
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.recorded import COPYING, DRAFTED_BY_THE_PAIR, PRICED, one_user
from webapp.core.problems import Conflict
from webapp.registry.models import Pair


def _can_ask(spec: Strategy) -> bool:
    """Whether traces tell what a setting of it would do: one that sliders choose, or the usual one if it has none."""
    has_estimates = (
        spec.usual_source.copies or choose(spec.slug).classifier is None
    )  # of drafted tokens, traces hold few
    is_known = spec.can_replay and has_estimates and not spec.usual_source.prices_rounds
    return not spec.usual_source.blocks and (bool(spec.sliders) or (is_known and spec.role == "ranked"))


ASKABLE = [strategy for strategy in STRATEGIES.values() if _can_ask(strategy)]
ASKABLE_ALONE = [one.slug for one in ASKABLE if not one.needs_draft]


def refusal(comparison: Comparison) -> Conflict | None:
    """Return why nothing can be asked here, as far as that is known without reading a trace; else None."""
    sampling = Sampling.from_dict(comparison.sampling)
    if not sampling.fixes_the_text:
        return Conflict(
            "With ratio dice every strategy writes a text of its own, so what one of them drafted says nothing about "
            "another.", code="not-replayable", hint="Compare with shared dice, or greedily.",
        )  # fmt: skip
    if comparison.pair is None:
        return nothing_recorded()
    known = set(one_user(comparison).values_list("run__strategy", flat=True).distinct())
    if not known and not comparison.runs.filter(concurrency=1).exists():
        return Conflict(
            "A replay needs texts that were decoded for one user at a time, and this comparison has none.",
            code="nothing-recorded", hint="Clone it with 1 among the users at once.",
        )  # fmt: skip
    if BASELINE not in known or not known & (DRAFTED_BY_THE_PAIR | COPYING):
        return nothing_recorded(comparison.pair)
    return None if known & PRICED - {BASELINE} else _nothing_priced()


def lacks_draft(comparison: Comparison) -> bool:
    """Whether its traces cannot tell what a draft model would say: there is none, or its text is matched (SLEM)."""
    return comparison.pair is not None and bool(comparison.pair.lacks)


def no_draft(comparison: Comparison, choice: Choice) -> Conflict | None:
    """Return why this cannot be asked where only copies can be replayed; None if it can."""
    if comparison.pair is None or not comparison.pair.lacks or not choice.spec.needs_draft:
        return None
    ask = f"Ask about {_listed(ASKABLE_ALONE)}, or compare on"
    if comparison.pair.is_undrafted:
        return Conflict(without_draft.lacks_draft(choice.label), code="no-draft", hint=f"{ask} a pair with a draft.")
    why = lacks_scores(f"A replay of {choice.label}")
    return Conflict(why, code="other-tokenizer", hint=f"{ask} a pair of these models with the setting tli.")


def unknown(found: RecordedComparison, choice: Choice) -> Conflict | None:
    """Return why these traces cannot tell what the choice would draft; None if they can."""
    if choice.spec.usual_source.copies and not found.knows_prompts:
        return Conflict(
            f"These traces are of an older version and lack the tokens of the prompts, from which {choice.strategy} "
            "copies.", code="nothing-recorded", hint="Clone this comparison.",
        )  # fmt: skip
    if choice.spec.prepares_ahead and not found.ahead:
        return Conflict(
            f"No {choice.strategy} has run here for one user, so nobody knows what preparing ahead costs on this "
            "machine.", code="nothing-recorded",
            hint=f"Clone this with {choice.strategy}, and with 1 among the users at once.",
        )  # fmt: skip
    if choice.judges_copies and not found.judge(choice):
        return Conflict(
            f"A classifier judges the copies of {choice.label}, and none that has learned from copied tokens can be "
            "read here.", code="no-classifier", hint="Train one with the design `sources` on this pair.",
        )  # fmt: skip
    if choice.needs_likelihoods:
        return Conflict(
            f"{choice.label} is left out: {choice.spec.why_not}.",
            code="not-replayable", hint="Ask for a shape that follows ranks: auto, or one such as 3/21/1.",
        )  # fmt: skip
    return _nothing_drafted(choice) if choice.spec.needs_draft and not found.knows_the_draft else None


def nothing_recorded(pair: Pair | None = None) -> Conflict:
    drafting = _listed(ASKABLE_ALONE) if pair and pair.lacks else "a static lookahead"
    return Conflict(
        "There is nothing to replay: it takes finished samples of autoregressive and of a strategy that drafts.",
        code="nothing-recorded", hint=f"Wait until some are finished, or clone this with {drafting}.",
    )  # fmt: skip


def _nothing_drafted(choice: Choice) -> Conflict:
    return Conflict(
        f"A replay of {choice.label} needs the draft's probabilities of the target's tokens, and these traces have "
        "none: no strategy with a draft has run here for one user, or the pair matches text (SLEM).",
        code="nothing-recorded", hint="Clone this with a static lookahead, on a pair that does not match text.",
    )  # fmt: skip


def _nothing_priced() -> Conflict:
    priced = _listed(PRICED - COPYING - {BASELINE})
    return Conflict(
        f"The cost of a drafted token is measured on {priced}, and none of them has run here.",
        code="nothing-recorded", hint="Clone this with a static lookahead.",
    )  # fmt: skip


def _listed(slugs: Collection[str]) -> str:
    """Write `a, b or c`, in the order of the strategies."""
    *first, last = [slug for slug in STRATEGIES if slug in slugs]
    return f"{', '.join(first)} or {last}" if first else last

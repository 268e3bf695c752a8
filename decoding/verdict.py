"""A comparison in one sentence. Standard library only; works on the rows of `decoding.summary.report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoding.summary import AUTOREGRESSIVE, LEAST_PROMPTS, so_few

Row = Mapping[str, Any]  # one strategy of a report


def leader(strategies: Sequence[Row], baseline: str = AUTOREGRESSIVE) -> Row | None:
    """The one that a verdict is about: of those that could be deployed, the fastest beside the baseline."""
    ranked = [s for s in strategies if s["role"] == "ranked" and s["speedup"] and s["label"] != baseline]
    return max(ranked, key=lambda s: float(s["speedup"]["median"]), default=None)


def verdict(
    strategies: Sequence[Row], baseline: str = AUTOREGRESSIVE, *, is_noisy: bool = False, is_over: bool = True
) -> str:
    """The comparison in one sentence: how much faster than the baseline, how sure, and whether the text is still the
    target's. What was measured while others used the machine is doubted before it is said. Where more prompts are on
    their way to an interval, none is asked for."""
    best = leader(strategies, baseline)
    if not best:
        return f"Nothing to rank yet: no strategy has a finished sample beside {baseline}'s."
    doubt = "On a machine that was not quiet: " if is_noisy else ""
    return f"{doubt}{_gain(best, baseline, is_over)}. {_losslessness(best)}"


def _gain(best: Row, baseline: str, is_over: bool) -> str:
    gain = best["speedup"]
    if gain["low"] is None and not is_over:
        ran_on = so_few(gain["prompts"])
        return f"{best['label']} runs at {gain['median']:.2f} times {baseline}'s speed so far, on {ran_on}"
    if gain["low"] is None:
        return (
            f"{best['label']} ran at {gain['median']:.2f} times {baseline}'s speed on {so_few(gain['prompts'])}, which "
            f"says little: a 95 % interval takes at least {LEAST_PROMPTS}, so run more prompts"
        )
    doubt = f"95 % interval {gain['low']:.2f} to {gain['high']:.2f}, {gain['prompts']} prompts"
    if gain["low"] <= 1.0:
        return (
            f"No strategy is shown to be faster than {baseline}; {best['label']} comes closest at "
            f"{gain['median']:.2f} times its speed ({doubt})"
        )
    return f"{best['label']} is {gain['median']:.2f} times as fast as {baseline} ({doubt})"


def _losslessness(row: Row) -> str:
    audit = row["audit"]
    compared = audit["identical"] + audit["tie"] + audit["divergent"]
    if not compared:
        return (
            "Its texts are draws of their own from the target's distribution, so they are not compared word for word."
        )
    if audit["identical"] == compared:
        return (
            f"Its text is exactly the target's on {'the one sample' if compared == 1 else f'all {compared} samples'}."
        )
    words = f"Its text is exactly the target's on {audit['identical']} of {compared} samples"
    if audit["tie"]:
        words += f", differs by a numeric tie on {audit['tie']}"
    if audit["divergent"]:
        words += f", and really diverges on {audit['divergent']}: do not trust it"
    return words + "."

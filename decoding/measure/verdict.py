"""Verdict: a comparison in one sentence, and its doubt, which stands under it. Pages, shares, terminal and API take
both from here. Standard library only; works on the rows of `summary.report`."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.measure.ranking import Row, ranked
from decoding.measure.summary import so_few
from decoding.strategies import BASELINE

BUSY = "The machine was not quiet: repeat this on a quiet one before you rely on it."


def doubt(ranking: str, *, is_noisy: bool) -> str:
    """State why a verdict may be wrong: a busy machine first, then what `ranking` says is open."""
    return " ".join(filter(None, (BUSY if is_noisy else "", ranking)))


def verdict(strategies: Sequence[Row], baseline: str = BASELINE, *, is_over: bool = True) -> str:
    """State how much faster than the baseline the best strategy is, how certain that is, and whether the text is still
    the target's. `is_over` is false while more prompts are to come."""
    found = ranked(strategies, baseline)
    if len(strategies) == 1:
        return f"Only {strategies[0]['label']} takes part, so there is nothing to rank."
    if not found:
        return f"Nothing to rank: no strategy has a finished sample beside {baseline}'s."
    if all(row["speedup"]["high"] and row["speedup"]["high"] < 1.0 for row in found):
        return f"Every strategy is slower than {baseline}; {_closest(found[0])}. {_losslessness(found[0])}"
    return f"{_gain(found[0], baseline, is_over)}. {_losslessness(found[0])}"


def _gain(best: Row, baseline: str, is_over: bool) -> str:
    gain = best["speedup"]
    if gain["low"] is None and not is_over:
        ran_on = so_few(gain["prompts"])
        return f"{best['label']} runs at {gain['median']:.2f} times {baseline}'s speed so far, on {ran_on}"
    if gain["low"] is None:
        return (
            f"{best['label']} ran at {gain['median']:.2f} times {baseline}'s speed on {so_few(gain['prompts'])}, too "
            "few to say how sure that is"
        )
    if gain["low"] <= 1.0:
        return f"No strategy is shown to be faster than {baseline}; {_closest(best)}"
    return f"{best['label']} is {gain['median']:.2f} times as fast as {baseline} ({_interval(gain)})"


def _closest(row: Row) -> str:
    gain = row["speedup"]
    return f"{row['label']} comes closest at {gain['median']:.2f} times ({_interval(gain)})"


def _interval(gain: Row) -> str:
    return f"95 % interval {gain['low']:.2f} to {gain['high']:.2f}, {gain['prompts']} prompts"


def _losslessness(row: Row) -> str:
    audit = row["audit"]
    compared = audit["identical"] + audit["tie"] + audit["divergent"]
    if not compared:
        return "Its texts are its own draws, so they are not compared word for word."
    if audit["identical"] == compared:
        return (
            f"Its text is exactly the target's on {'the one sample' if compared == 1 else f'all {compared} samples'}."
        )
    words = f"Its text is exactly the target's on {audit['identical']} of {compared} samples"
    if audit["tie"]:
        tie = f"a tie in {row['tie_in']}," if row.get("tie_in") else "a numeric tie"
        words += f", differs by {tie} on {audit['tie']}"
    if audit["divergent"]:
        words += f", and really diverges on {audit['divergent']}: do not trust it"
    return words + "."

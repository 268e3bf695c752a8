"""Why it is not faster: from the speed-up that acceptance alone would give, down to the measured one, loss by loss.
Standard library only.

With one pass of the target for several tokens, and everything else free, decoding would be as many times faster as
there are tokens a pass. What it costs to draft, what a pass over several tokens costs more than one over a single
token, and what a round spends on neither, each take something away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ADVICE = {
    "acceptance": "The draft is refused too often: take one closer to the target, or distil it on such prompts.",
    "drafting": "Drafting is dear: take a smaller draft, a shorter lookahead, or a rule that stops when it is unsure.",
    "verifying": "A pass over several tokens costs far more than over one: shorten the lookahead.",
    "the rest": "Much time goes into neither model: faster tokenization, fewer stop strings, a quieter machine.",
}


def losses(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The steps from ideal to measured for one strategy. None for the baseline, or where nothing was measured."""
    base = next((r for r in rows if r["role"] == "baseline"), None)
    if base is None or row["role"] == "baseline":
        return None
    alone, here = _totals(base), _totals(row)
    if not (alone["tokens"] and here["tokens"] and here["passes"] and here["ns"]):
        return None
    step_ns = alone["ns"] / alone["tokens"]  # one token, alone
    pass_ns = alone["verify_ns"] / alone["passes"]  # the target's part of it
    ideal_ns = here["passes"] * step_ns
    drafted_ns = ideal_ns + here["draft_ns"]
    verified_ns = drafted_ns + here["verify_ns"] - here["passes"] * pass_ns
    speeds = [here["tokens"] * step_ns / ns for ns in (ideal_ns, drafted_ns, verified_ns, here["ns"])]
    steps = [
        {"name": name, "from": before, "to": after}
        for name, before, after in zip(("drafting", "verifying", "the rest"), speeds, speeds[1:], strict=False)
    ]
    return {"ideal": speeds[0], "steps": steps, "measured": speeds[-1], "advice": _advice(speeds[0], steps)}


def _advice(ideal: float, steps: Sequence[Mapping[str, Any]]) -> str:
    largest = max(steps, key=lambda step: step["from"] - step["to"])
    if ideal < 1.5 or largest["from"] - largest["to"] < 0.1:
        return ADVICE["acceptance"] if ideal < 1.5 else ""
    return ADVICE[largest["name"]]


def _totals(row: Mapping[str, Any]) -> dict[str, float]:
    samples = row["samples"]
    return {
        "tokens": sum(s["timed_tokens"] for s in samples),
        "passes": sum(s["num_target_passes"] for s in samples),
        "ns": sum(s["decode_ns"] for s in samples),
        "draft_ns": sum(s["draft_ns"] for s in samples),
        "verify_ns": sum(s["verify_ns"] for s in samples),
    }

"""Reasons why a strategy is not faster: from the speed-up that acceptance alone would give, down to the measured one,
loss by loss. Standard library only.

If a target pass over several tokens cost as much as over one, and everything else were free, the speed-up would be the
number of tokens per pass. Losses are the cost of drafting, the extra cost of a pass over several tokens, the time in
which the target waits for a draft that is prepared elsewhere, and the rest of a round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ADVICE = {
    "acceptance": "The draft is refused too often: take one closer to the target, or distil it on such prompts.",
    "drafting": "Drafting is dear: take a smaller draft, a shorter lookahead, or a rule that stops when it is unsure.",
    "verifying": "A pass over several tokens costs far more than over one: shorten the lookahead.",
    "waiting": "The target waits for what is prepared: give the draft a device of its own, or fewer branches.",
    "the rest": "Much time goes into neither model: faster tokenization, fewer stop strings, a quieter machine.",
}


def losses(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the steps from ideal to measured speed-up for one strategy; None for the baseline, or if nothing was
    measured."""
    base = next((r for r in rows if r["role"] == "baseline"), None)
    if base is None or row["role"] == "baseline":
        return None
    alone, here = _totals(base), _totals(row)
    if not (alone["tokens"] and here["tokens"] and here["passes"] and here["ns"]):
        return None
    step_ns = alone["ns"] / alone["tokens"]  # one token, without speculation
    pass_ns = alone["verify_ns"] / alone["passes"]  # the target's part of it
    ideal_ns = here["passes"] * step_ns
    drafted_ns = ideal_ns + here["draft_ns"]
    verified_ns = drafted_ns + here["verify_ns"] - here["passes"] * pass_ns
    waited = {"waiting": verified_ns + here["wait_ns"]} if here["wait_ns"] else {}
    after = {"drafting": drafted_ns, "verifying": verified_ns, **waited, "the rest": here["ns"]}
    speeds = [here["tokens"] * step_ns / ns for ns in (ideal_ns, *after.values())]
    steps = [
        {"name": name, "from": before, "to": to} for name, before, to in zip(after, speeds, speeds[1:], strict=False)
    ]
    largest = _largest(speeds[0], steps)
    told = {"largest": largest, "advice": ADVICE.get(largest, "")}
    return {"ideal": speeds[0], "steps": steps, "measured": speeds[-1], **told}


def _largest(ideal: float, steps: Sequence[Mapping[str, Any]]) -> str:
    """Name what to improve first; empty if no step takes 0.1 of a speed-up."""
    if ideal < 1.5:
        return "acceptance"
    step = max(steps, key=lambda step: step["from"] - step["to"])
    return str(step["name"]) if step["from"] - step["to"] >= 0.1 else ""


def _totals(row: Mapping[str, Any]) -> dict[str, float]:
    samples = row["samples"]
    ns, draft_ns, verify_ns = (sum(s[name] for s in samples) for name in ("decode_ns", "draft_ns", "verify_ns"))
    ahead = [s["hits"]["alone_ns"] for s in samples if s.get("hits")]
    alone_ns = sum(ahead) if ahead else draft_ns  # the draft model works while the target waits
    return {
        "tokens": sum(s["timed_tokens"] for s in samples),
        "passes": sum(s["num_target_passes"] for s in samples),
        "ns": ns,
        "draft_ns": alone_ns,
        "verify_ns": verify_ns,
        "wait_ns": max(0, min(draft_ns, ns - verify_ns) - alone_ns),  # preparing may be counted twice
    }

"""Why it is not faster: from the speed-up that acceptance alone would give, down to the measured one, loss by loss.
Standard library only.

With one pass of the target for several tokens, and everything else free, decoding would be as many times faster as
there are tokens a pass. What it costs to draft, what a pass over several tokens costs more than one over a single
token, how long the target stands still for a draft that is prepared elsewhere, and what a round spends on none of
these, each take something away.
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
    """What to begin with; nothing where no step takes a tenth of a speed-up."""
    if ideal < 1.5:
        return "acceptance"
    step = max(steps, key=lambda step: step["from"] - step["to"])
    return str(step["name"]) if step["from"] - step["to"] >= 0.1 else ""


def _totals(row: Mapping[str, Any]) -> dict[str, float]:
    samples = row["samples"]
    ns, draft_ns, verify_ns = (sum(s[name] for s in samples) for name in ("decode_ns", "draft_ns", "verify_ns"))
    ahead = [s["hits"]["alone_ns"] for s in samples if s.get("hits")]
    alone_ns = sum(ahead) if ahead else draft_ns  # the draft model at work while the target stands still
    return {
        "tokens": sum(s["timed_tokens"] for s in samples),
        "passes": sum(s["num_target_passes"] for s in samples),
        "ns": ns,
        "draft_ns": alone_ns,
        "verify_ns": verify_ns,
        "wait_ns": max(0, min(draft_ns, ns - verify_ns) - alone_ns),  # what is prepared may be counted twice
    }

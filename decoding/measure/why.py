"""Reasons why a strategy is not faster: the time from an oracle's bound to the measured run, cause by cause.

The bound is what an oracle with free drafts would need on the same text: it verifies only where the draft is refused,
each time at the measured price of one row. Every cause adds time to that, measured in the events of the run. The
causes add up to the time of the run exactly: `overhead` is what no other cause explains. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decoding.load import ONE
from decoding.measure.sample import Sample
from decoding.measure.spent import BOUND, CAUSES, OF_DRAFTS
from decoding.measure.texts import Texts
from decoding.spec import Choice

ADVICE = {
    BOUND: "The draft is refused too often: take one closer to the target, or distil it on such prompts.",
    "drafting": "Drafting is expensive: take a smaller draft, or a rule that stops when it is unsure.",
    "early": "Drafts end before a refusal: take a longer lookahead, or a rule that stops less often.",
    "rejected": "Drafts go on after a refusal: take a shorter lookahead, or a rule that stops when it is unsure.",
    "misses": "Outcomes were not prepared: prepare more branches, or a better backup.",
    "waits": "The target waits for the draft: give the draft a device of its own, or fewer branches.",
    "width": "A verification of several rows costs far more than one of a single row: take a shorter lookahead.",
    "overhead": "Much time is spent outside both models: use fewer stop strings or a quieter machine.",
}
LARGE = 0.1  # of autoregressive's speed: a smaller loss is not advised on
FEW = 1.5  # times autoregressive's speed: a lower bound means that the draft is refused too often

NOTHING_FINISHED = "No sample of it has finished."
NO_ROUNDS = "A server does not report its rounds, so nobody can say where its time went."
NO_DRAFTS = "It drafted nothing, so no time was lost to drafting."
NOT_KEPT = "An earlier version of Drafthouse ran it and did not keep where its rounds ended. Run it again."
NO_PRICE = "No autoregressive sample has finished, so the price of one row is not known."
SHARED = "Under load, requests share verifications, so no request has a time of its own."


def reasons(choices: Sequence[Choice], by_label: Mapping[str, Sequence[Sample]]) -> Iterator[dict[str, Any]]:
    """Yield why each choice is not faster. Autoregressive alone has the price of one row, whatever is pinned."""
    alone = [choice for choice in choices if choice.load == ONE]
    plain = next((by_label[choice.label] for choice in alone if choice.spec.role == "baseline"), [])
    texts = Texts(sample for choice in alone for sample in by_label[choice.label])
    for choice in choices:
        yield why(by_label[choice.label], plain, texts) if choice.load == ONE else refused(SHARED)


def refused(refusal: str) -> dict[str, Any]:
    return {"refusal": refusal, "bound": None, "steps": [], "measured": None, "end_to_end": None, "baseline": None,
            "row_ns": None, "unknown": 0, "largest": "", "sentence": refusal}  # fmt: skip


def why(own: Sequence[Sample], plain: Sequence[Sample], texts: Texts) -> dict[str, Any]:
    """Divide the time of one strategy's samples. `plain` are autoregressive's. A refusal says why it cannot be done."""
    if refusal := _refusal(own, plain):
        return refused(refusal)
    row_ns = price_of_row(plain)
    ends = [end for sample in own for end in texts.ends(sample)]
    ns = _by_cause(own, ends, row_ns)
    tokens, baseline = sum(sample.timed_tokens for sample in own), _speed(plain)
    steps, at = [], ns[BOUND]
    for cause, title in CAUSES.items():
        if ns[cause] or cause not in ("misses", "waits"):
            step = {"name": cause, "title": title, "from": tokens * 1e9 / at, "to": tokens * 1e9 / (at + ns[cause])}
            steps.append({**step, "seconds": ns[cause] / 1e9})
            at += ns[cause]
    found = {
        "refusal": "",
        "bound": tokens * 1e9 / ns[BOUND],
        "steps": steps,
        "measured": tokens * 1e9 / at,
        "end_to_end": tokens * 1e9 / (at + sum(sample.prefill_ns for sample in own)),
        "baseline": baseline,
        "row_ns": row_ns,
        "unknown": sum(end.endswith("?") for end in ends),
        "largest": _largest(tokens * 1e9 / ns[BOUND], steps, baseline),
    }
    return {**found, "sentence": _sentence(found)}


def price_of_row(plain: Sequence[Sample]) -> float:
    """Nanoseconds of a verification of one row: autoregressive's mean; 0 if nothing was measured."""
    passes = sum(sample.num_target_passes or 0 for sample in plain)
    return sum(sample.verify_ns for sample in plain) / passes if passes else 0.0


def _refusal(own: Sequence[Sample], plain: Sequence[Sample]) -> str:
    checks = {
        NOTHING_FINISHED: not sum(sample.timed_tokens for sample in own),
        NO_ROUNDS: not all(sample.has_rounds for sample in own),
        NOT_KEPT: not all(sample.spent for sample in own),
        NO_DRAFTS: not any(sample.spent and sample.spent.drafted for sample in own),
        NO_PRICE: not price_of_row(plain),
    }
    return next((refusal for refusal, holds in checks.items() if holds), "")


def _by_cause(own: Sequence[Sample], ends: Sequence[str], row_ns: float) -> dict[str, float]:
    ns: dict[str, float] = {BOUND: 0.0, **dict.fromkeys(CAUSES, 0.0)}
    for end in ends:
        ns[end.rstrip("?")] += row_ns
    for sample in own:
        assert sample.spent
        for cause in OF_DRAFTS:
            ns[cause] += getattr(sample.spent, cause)
    ns["width"] = sum(sample.verify_ns for sample in own) - len(ends) * row_ns
    ns["overhead"] = sum(sample.decode_ns for sample in own) - sum(ns.values())
    return ns


def _speed(samples: Sequence[Sample]) -> float:
    decode_ns = sum(sample.decode_ns for sample in samples)
    return sum(sample.timed_tokens for sample in samples) * 1e9 / decode_ns if decode_ns else 0.0


def _largest(bound: float, steps: Sequence[Mapping[str, Any]], baseline: float) -> str:
    """Name the bar to improve first; empty if none takes a tenth of autoregressive's speed."""
    if bound < FEW * baseline:
        return BOUND
    step = max(steps, key=lambda step: step["from"] - step["to"])
    return str(step["name"]) if step["from"] - step["to"] >= LARGE * baseline else ""


def _sentence(found: Mapping[str, Any]) -> str:
    largest = found["largest"]
    step = next((step for step in found["steps"] if step["name"] == largest), None)
    sentences = [f"An oracle with free drafts would reach at most {_rounded(found['bound'])} tokens/s."]
    if step:
        sentences.append(f"The largest loss is {step['title']}: {_rounded(step['from'] - step['to'])} tokens/s.")
    sentences.append(ADVICE.get(largest, "No single loss stands out."))
    if found["unknown"]:
        sentences.append(
            f"No strategy drafted at {found['unknown']} of the stops, so nobody knows whether they were too early: "
            "the bound assumes it."
        )
    return " ".join(sentences)


def _rounded(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"

"""Reasons why a strategy is not faster: the time from an oracle's bound to the measured run, cause by cause.

The bound is what an oracle with free drafts would need on the same text: it verifies only where the draft is refused,
each time at the measured price of one row. Under load that is autoregressive's pass of one row a text, for as many
texts. Every cause adds time to that, measured in the events of the run. The causes add up to the time of the run
exactly: `overhead` is what no other cause explains. Standard library only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from decoding.choice import Choice
from decoding.core.load import ONE, Load
from decoding.measure import passes
from decoding.measure.sample import SampleResult
from decoding.measure.spent import ACCEPTED, BOUND, CAUSES, EMPTY, ENDS, OF_DRAFTS, OF_LOAD, REFUSED, REPLACED

ADVICE = {
    BOUND: "The draft is refused too often: take one closer to the target, or distil it on such prompts.",
    "drafting": "Drafting is expensive: take a smaller draft, or a rule that stops when it is unsure.",
    "early": "Drafts end before a refusal: take a longer lookahead, or a rule that stops less often.",
    "rejected": "Drafts go on after a refusal: take a shorter lookahead, or a rule that stops when it is unsure.",
    "misses": "Outcomes were not prepared: prepare more branches, or a better backup.",
    "waits": "The target waits for the draft: give the draft a device of its own, or fewer branches.",
    "width": "A verification of several rows costs far more than one of a single row: take a shorter lookahead.",
    "others": "Texts wait for the longest draft of the batch: take a shorter lookahead, or `budget`.",
    "prompts": "New requests' prompts take much of the time: send shorter prompts, or fewer requests at once.",
    "overhead": "Much time is spent outside both models: use fewer stop strings or a quieter machine.",
}
RARE = ("misses", "waits", "others", "prompts")  # bars that are left out where they are empty
LARGE = 0.1  # of autoregressive's speed: a smaller loss is not advised on
FEW = 1.5  # times autoregressive's speed: a lower bound means that the draft is refused too often

NOTHING_FINISHED = "No sample of it has finished."
NO_ROUNDS = "A server does not report its rounds, so the bound and the losses of drafting are unknown."
NO_DRAFTS = "It drafted nothing, so no time was lost to drafting."
NOT_KEPT = "An earlier version of Drafthouse ran it and did not keep where its rounds ended. Run it again."
NO_PRICE = "No autoregressive sample has finished, so the price of one row is not known."
WITH_PROMPTS = "Every verification also read prompts of other texts, so their time is part of the verification width."


class Texts:
    """Texts of a comparison: would the draft have proposed the token at which a round ended? Another strategy that
    drafted there along the same text knows."""

    def __init__(self, samples: Iterable[SampleResult]) -> None:
        self._places: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for sample in samples:
            if sample.spent and sample.spent.drafted:
                self._places[_text(sample)].append(sample.spent.places)

    def ends(self, sample: SampleResult) -> Iterator[str]:
        """Yield for each round what became of it: `bound` if the oracle verifies there too, else the cause of this
        verification, with `?` if nobody knows what the draft would have proposed."""
        assert sample.spent
        places, others = sample.spent.places, self._places.get(_text(sample), [])
        ends = [at for at, letter in enumerate(places) if letter in ENDS]
        for at in ends[:-1]:
            yield self._end(places[at], [other[at] for other in others if at < len(other)])
        yield from [BOUND] * bool(ends)

    def _end(self, letter: str, others: Sequence[str]) -> str:
        cause = "misses" if letter == REPLACED else "early"
        if letter in (REFUSED, EMPTY):
            return BOUND
        if ACCEPTED in others:
            return cause
        return BOUND if REFUSED in others else f"{cause}?"


def _text(sample: SampleResult) -> tuple[object, ...]:
    assert sample.spent
    return sample.prompt, sample.repeat, sample.spent.drafter, tuple(sample.tokens)


def reasons(choices: Sequence[Choice], by_label: Mapping[str, Sequence[SampleResult]]) -> Iterator[dict[str, Any]]:
    """Yield why each choice is not faster. Autoregressive at the same load has the price of one row, whatever is
    pinned."""
    plain: dict[Load, Sequence[SampleResult]] = {}
    texts: dict[Load, Texts] = {}
    for load in {choice.load for choice in choices}:
        beside = [choice for choice in choices if choice.load == load]
        plain[load] = next((by_label[choice.label] for choice in beside if choice.spec.role == "baseline"), [])
        texts[load] = Texts(sample for choice in beside for sample in by_label[choice.label])
    for choice in choices:
        yield why(by_label[choice.label], plain[choice.load], texts[choice.load])


def why(own: Sequence[SampleResult], plain: Sequence[SampleResult], texts: Texts) -> dict[str, Any]:
    """Divide the time of one strategy's samples. `plain` are autoregressive's at the same load. A refusal says why it
    cannot be done; what was measured is given all the same."""
    found = {**_UNKNOWN, **_whole(own), "baseline": _speed(plain) or None}
    if refusal := _refusal(own, plain):
        return {**found, "refusal": refusal, "sentence": refusal}
    together = passes.of(own)
    line, row_ns = passes.usual(together), passes.price_of_row(together, passes.of(plain))
    ends = [end for sample in own for end in texts.ends(sample)]
    ns = _by_cause(own, ends, row_ns, passes.of_prompts(together, line))
    bound, steps = _falling(ns, sum(sample.timed_tokens for sample in own))
    found |= {
        "bound": bound,
        "steps": steps,
        "row_ns": row_ns,
        "passes": [{"texts": size, "ns": mean} for size, mean in line],
        "unknown": sum(end.endswith("?") for end in ends),
        "largest": _largest(bound, steps, _speed(plain)),
    }
    never_apart = own[0].load != ONE and all(read_prompts for _, read_prompts, _, _ in together)
    return {**found, "sentence": " ".join([_sentence(found), *[WITH_PROMPTS] * never_apart])}


_UNKNOWN: dict[str, Any] = {
    "refusal": "", "bound": None, "steps": [], "row_ns": None, "passes": [], "unknown": 0, "largest": "",
}  # fmt: skip


def _whole(own: Sequence[SampleResult]) -> dict[str, float | None]:
    """Tokens per second of decoding alone, with the prompt, and with the time in the queue."""
    tokens, decode_ns = (sum(getattr(sample, name) for sample in own) for name in ("timed_tokens", "decode_ns"))
    with_prompt_ns = decode_ns + sum(sample.prefill_ns for sample in own)
    queued_ns = sum(sample.timing.queued_ns for sample in own)
    spans = {"measured": decode_ns, "with_prompt": with_prompt_ns, "end_to_end": with_prompt_ns + queued_ns}
    return {name: tokens * 1e9 / span if tokens and span else None for name, span in spans.items()}


def _falling(ns: Mapping[str, float], tokens: int) -> tuple[float, list[dict[str, Any]]]:
    """Return the bound in tokens per second, and what each cause takes from it, one after another."""
    steps, at = [], ns[BOUND]
    for cause, title in CAUSES.items():
        if ns[cause] or cause not in RARE:
            step = {"name": cause, "title": title, "from": tokens * 1e9 / at, "to": tokens * 1e9 / (at + ns[cause])}
            steps.append({**step, "seconds": ns[cause] / 1e9})
            at += ns[cause]
    return tokens * 1e9 / ns[BOUND], steps


def _refusal(own: Sequence[SampleResult], plain: Sequence[SampleResult]) -> str:
    checks = {
        NOTHING_FINISHED: not sum(sample.timed_tokens for sample in own),
        NO_ROUNDS: not all(sample.has_rounds for sample in own),
        NOT_KEPT: not all(sample.spent for sample in own),
        NO_DRAFTS: not any(sample.spent and sample.spent.drafted for sample in own),
        NO_PRICE: not passes.price_of_row(passes.of(own), passes.of(plain)),
    }
    return next((refusal for refusal, holds in checks.items() if holds), "")


def _by_cause(own: Sequence[SampleResult], ends: Sequence[str], row_ns: float, for_prompts: float) -> dict[str, float]:
    ns: dict[str, float] = {BOUND: 0.0, **dict.fromkeys(CAUSES, 0.0)}
    for end in ends:
        ns[end.rstrip("?")] += row_ns
    for sample in own:
        assert sample.spent
        for cause in (*OF_DRAFTS, *OF_LOAD):
            ns[cause] += getattr(sample.spent, cause)
    ns["prompts"] += for_prompts
    ns["width"] = sum(sample.verify_ns for sample in own) - len(ends) * row_ns - for_prompts
    ns["overhead"] = sum(sample.decode_ns for sample in own) - sum(ns.values())
    return ns


def _speed(samples: Sequence[SampleResult]) -> float:
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

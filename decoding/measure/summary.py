"""Rows of a comparison: what each strategy's samples come to. Standard library only."""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from decoding.disco.prices import about
from decoding.load import ONE, Load
from decoding.measure import latency, why
from decoding.measure.devices import device_shares
from decoding.measure.drift import drift
from decoding.measure.regret import regrets
from decoding.measure.sample import AUDIT_OUTCOMES, Sample
from decoding.measure.speedups import (
    Speed,
    Speedup,
    break_even_tokens,
    decode_speed,
    end_to_end_speed,
    ratios,
    speedups,
)
from decoding.spec import Choice
from decoding.ssd import accounting
from decoding.strategies import BASELINE
from decoding.strategy import CLASSIFIER


def repeated_8grams(tokens: Sequence[int]) -> float:
    """Share of 8-grams that repeat earlier ones. Loops make every strategy look faster, so each row says it."""
    grams = [tuple(tokens[i : i + 8]) for i in range(len(tokens) - 7)]
    return 1.0 - len(set(grams)) / len(grams) if grams else 0.0


def _row(
    choice: Choice, runner: str, samples: Sequence[Sample], gain: Speedup | None, end_to_end: Speedup | None
) -> dict[str, Any]:
    """One row of a comparison, as in the JSON document."""
    decode_ns = sum(s.decode_ns for s in samples)
    spec_steps, drafted, accepted = (
        _sum(getattr(s, name) for s in samples)
        for name in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
    )
    has_rounds = all(s.has_rounds for s in samples)
    by_position = zip(
        _added(s.accepted_by_position for s in samples), _added(s.drafts_by_position for s in samples), strict=True
    )
    return {
        "strategy": choice.strategy,
        "label": choice.label,
        "concurrency": None if choice.load.is_open else choice.load.concurrency,
        "rate": choice.load.rate or None,
        "recorded": choice.load.recorded,
        "params": dict(choice.params),
        "role": choice.spec.role,
        "runner": runner,
        "tokens_per_s": sum(s.timed_tokens for s in samples) * 1e9 / decode_ns if decode_ns else 0.0,
        "speedup": dataclasses.asdict(gain) if gain else None,
        "end_to_end": dataclasses.asdict(end_to_end) if end_to_end else None,
        "prefill_ms": statistics.median(s.prefill_ns for s in samples) / 1e6 if samples else None,
        "mean_acceptance_length": _acceptance_length(spec_steps, accepted),
        "draft_acceptance_rate": accepted / drafted if drafted and accepted is not None else None,
        "num_spec_steps": spec_steps,
        "num_draft_tokens": drafted,
        "num_accepted_draft_tokens": accepted,
        "num_target_passes": _sum(s.num_target_passes for s in samples),
        "num_draft_passes": _sum(s.num_draft_passes for s in samples),
        "acceptance_histogram": _added(s.acceptance_histogram for s in samples),
        "acceptance_by_position": [a / d for a, d in by_position],
        "drift": drift(each for sample in samples for each in sample.estimated),
        "draft_share": sum(s.draft_ns for s in samples) / decode_ns if decode_ns and has_rounds else None,
        "verify_share": sum(s.verify_ns for s in samples) / decode_ns if decode_ns and has_rounds else None,
        **accounting.rates([s.hits for s in samples if s.hits]),
        "lost": dict(Counter(s.lost for s in samples if s.lost)),
        "captures": sum(s.captures for s in samples),
        "repeated_8grams": statistics.mean(repeated_8grams(s.tokens) for s in samples) if samples else None,
        "audit": {
            outcome: sum(s.audit is not None and s.audit.outcome == outcome for s in samples)
            for outcome in AUDIT_OUTCOMES
        },
        "samples": [s.to_dict() for s in samples],
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    """Add counts; None if one is unknown."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)


def _acceptance_length(spec_steps: int | None, accepted: int | None) -> float | None:
    if spec_steps is None or accepted is None:
        return None
    return 1 + accepted / spec_steps if spec_steps else 1.0


def report(
    choices: Sequence[Choice],
    runners: Mapping[str, str],
    samples: Sequence[Sample],
    baseline: str = BASELINE,
    objective: latency.Objective = latency.NO_OBJECTIVE,
    *,
    prices: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    hardware: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Rows of all choices, in the order of `choices`. `runners` names the runner of each label. `prices` are those that
    the run weighed, by the classifier's name. `hardware` states what each label had to itself.

    Speed-ups are relative to the strategy that `baseline` labels, at the same load."""
    by_label: dict[str, list[Sample]] = {choice.label: [] for choice in choices}
    for sample in samples:
        if sample.strategy in by_label:
            by_label[sample.strategy].append(sample)
    base = baselines(choices, baseline)
    gains: dict[str, Speedup | None] = {}
    totals: dict[str, Speedup | None] = {}
    for load, label in base.items():
        beside = {choice.label: by_label[choice.label] for choice in choices if choice.load == load}
        totals |= _gains(beside, label, end_to_end_speed)
        gains |= _gains(beside, label, decode_speed) if load == ONE else totals
    devices, rows = device_shares(choices, hardware), []
    for choice in choices:
        own, label, reference = by_label[choice.label], choice.label, base[choice.load]
        row = _row(choice, runners[label], own, gains[label], totals[label])
        length = None if label == reference else break_even_tokens(own, by_label.get(reference, []))
        speed = decode_speed if choice.load == ONE else end_to_end_speed
        by_turn = _by_turn(own, by_label.get(reference, []), speed)
        rows.append(
            {
                **row,
                "price": about(prices.get(str(choice.settled.get(CLASSIFIER.name))), choice.price_rule),
                "by_turn": by_turn,
                "break_even_tokens": length,
                **latency.figures(own, objective, devices[label]),
            }
        )
    found = zip(rows, why.reasons(choices, by_label), regrets(choices, by_label), strict=True)
    return [{**row, "why": reason, "regret": regret} for row, reason, regret in found]


def _by_turn(samples: Sequence[Sample], baseline: Sequence[Sample], speed: Speed) -> list[dict[str, Any]]:
    """Speed-up and acceptance of each turn, if conversations have several. Each interval holds for itself alone."""
    found = []
    for turn in sorted({sample.turn for sample in samples}):
        own = [sample for sample in samples if sample.turn == turn]
        gain = speedups([ratios(own, baseline, speed)])[0]
        steps, accepted = (
            _sum(getattr(s, name) for s in own) for name in ("num_spec_steps", "num_accepted_draft_tokens")
        )
        found.append(
            {
                "turn": turn,
                "speedup": dataclasses.asdict(gain) if gain else None,
                "mean_acceptance_length": _acceptance_length(steps, accepted),
                "prompt_tokens": statistics.median(sample.prompt_tokens for sample in own),
            }
        )
    return found if len(found) > 1 else []


def baselines(choices: Sequence[Choice], baseline: str = BASELINE) -> dict[Load, str]:
    """Return the label of the row that speed-ups are relative to, for each load."""
    settings = next((choice.settings for choice in choices if choice.label == baseline), baseline)
    return {choice.load: settings + choice.load.suffix for choice in choices}


def _gains(by_label: Mapping[str, Sequence[Sample]], baseline: str, speed: Speed) -> dict[str, Speedup | None]:
    """Speed-ups of all strategies. The baseline's own is exactly 1 and makes no other interval wider."""
    base = by_label.get(baseline, [])
    columns = {label: ratios(samples, base, speed) for label, samples in by_label.items()}
    others = [label for label in columns if label != baseline]
    found = dict(zip(others, speedups([columns[label] for label in others]), strict=True))
    return {**found, **{label: speedups([column])[0] for label, column in columns.items() if label == baseline}}


def so_few(prompts: int) -> str:
    """Text in place of an interval that needs more prompts."""
    return "a single prompt" if prompts == 1 else f"{prompts} prompts"


def _added(rows: Iterable[Sequence[int]]) -> list[int]:
    total: list[int] = []
    for row in rows:
        total += [0] * (len(row) - len(total))
        for i, count in enumerate(row):
            total[i] += count
    return total

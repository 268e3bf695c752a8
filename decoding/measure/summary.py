"""Rows of a comparison: what each strategy's samples come to. Standard library only."""

from __future__ import annotations

import dataclasses
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from decoding.choice import Choice
from decoding.core.load import ONE, Load
from decoding.disco.prices import about
from decoding.measure import latency, why
from decoding.measure.sample import AUDIT_OUTCOMES, SampleResult
from decoding.measure.speedups import (
    Race,
    Speedup,
    end_to_end_speed,
    races,
    speedup,
    speedups,
)
from decoding.strategies import BASELINE
from decoding.trace import accounting


def repeated_8grams(tokens: Sequence[int]) -> float:
    """Share of 8-grams that repeat earlier ones. Loops make every strategy look faster, so each row says it."""
    grams = [tuple(tokens[i : i + 8]) for i in range(len(tokens) - 7)]
    return 1.0 - len(set(grams)) / len(grams) if grams else 0.0


HEAVY = 50  # percent of all cores
NOISY_SHARE = 0.2  # of the noises; above it a verdict doubts itself


@dataclass(frozen=True, slots=True)
class Stage:
    """How far a comparison has come. A comparison that ended as planned has no stage."""

    planned: int = 0  # prompts to come in all; 0: it has ended, with all of them
    is_over: bool = True
    repeats: int = 1  # planned, of each prompt
    repeat: int = 1  # under way


ENDED = Stage()


@dataclass(frozen=True)
class RaceResults:
    """The races of a comparison, and the speed-ups that they show, by label."""

    races: Sequence[Race]
    base: Mapping[Load, str]  # label of the row that speed-ups are relative to
    gains: Mapping[str, Speedup | None]
    end_to_end: Mapping[str, Speedup | None]
    shown: frozenset[str]  # labels shown to be faster than the usual baseline
    stage: Stage = ENDED
    is_withheld: bool = False  # intervals are, since other programs used the machine too much
    is_noisy: bool = False  # other programs used it for so long that the verdict doubts itself


def judge(
    choices: Sequence[Choice],
    samples: Sequence[SampleResult],
    baseline: str = "",
    *,
    stage: Stage = ENDED,
    noises: Sequence[str] = (),
) -> RaceResults:
    """Judge samples, relative to the strategy that `baseline` labels, or to the usual one, at the same load. `noises`
    are sentences on what disturbed each of them, or all together; empty where nothing did."""
    stage = dataclasses.replace(stage, repeat=1 + max((sample.repeat for sample in samples), default=0))
    by_label = _by_label(choices, samples)
    base, usual = (baselines(choices, asked) for asked in (baseline, ""))
    every, is_withheld = races(choices, by_label), is_heavy(noises)
    gains = speedups(every, base, stage.planned)
    usually = gains if usual == base else speedups(every, usual, stage.planned)
    whole = speedups(races(choices, by_label, end_to_end_speed), base, stage.planned) if ONE in base else gains
    if is_withheld:
        gains, whole = (
            {label: gain and dataclasses.replace(gain, low=None, high=None) for label, gain in found.items()}
            for found in (gains, whole)
        )
        usually = {}
    shown = frozenset(label for label, gain in usually.items() if gain and (gain.low or 0) > 1)
    is_noisy = sum(map(bool, noises)) > NOISY_SHARE * len(noises)
    return RaceResults(every, base, gains, whole, shown, stage, is_withheld, is_noisy)


def is_heavy(noises: Iterable[str]) -> bool:
    """Whether other programs used so much of the machine that no interval would hold."""
    told = [re.search(r"Other programs used (\d+) %", noise) for noise in noises]
    return bool(told) and statistics.mean(int(found[1]) if found else 0 for found in told) > HEAVY


def _by_label(choices: Iterable[Choice], samples: Iterable[SampleResult]) -> dict[str, list[SampleResult]]:
    found: dict[str, list[SampleResult]] = {choice.label: [] for choice in choices}
    for sample in samples:
        if sample.strategy in found:
            found[sample.strategy].append(sample)
    return found


def _row(choice: Choice, runner: str, samples: Sequence[SampleResult], judged: RaceResults) -> dict[str, Any]:
    """One row of a comparison, as in the JSON document."""
    gain, end_to_end = judged.gains.get(choice.label), judged.end_to_end.get(choice.label)
    decode_ns = sum(s.decode_ns for s in samples)
    spec_steps, drafted = _sum(s.num_spec_steps for s in samples), _sum(s.num_draft_tokens for s in samples)
    accepted = _sum(s.num_accepted_draft_tokens for s in samples)
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
        "is_shown": choice.label in judged.shown,
        "end_to_end": dataclasses.asdict(end_to_end) if end_to_end else None,
        "prefill_ms": statistics.median(s.prefill_ns for s in samples) / 1e6 if samples else None,
        "tokens_per_round": _tokens_per_round(sum(s.count for s in samples), accepted),
        "mean_acceptance_length": _acceptance_length(spec_steps, accepted),
        "draft_acceptance_rate": accepted / drafted if drafted and accepted is not None else None,
        "num_spec_steps": spec_steps,
        "num_draft_tokens": drafted,
        "num_accepted_draft_tokens": accepted,
        "num_target_passes": _sum(s.num_target_passes for s in samples),
        "num_draft_passes": _sum(s.num_draft_passes for s in samples),
        "acceptance_histogram": _added(s.acceptance_histogram for s in samples),
        "acceptance_by_position": [a / d for a, d in by_position],
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
        "tie_in": next((s.audit.tie_in for s in samples if s.audit and s.audit.tie_in), ""),
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


def _tokens_per_round(tokens: int, accepted: int | None) -> float | None:
    """Tokens that a pass of the target brings: each brings one of its own, and those that it accepts."""
    return tokens / (tokens - accepted) if accepted is not None and tokens > accepted else None


def report(
    choices: Sequence[Choice],
    runners: Mapping[str, str],
    samples: Sequence[SampleResult],
    baseline: str = "",
    objective: latency.Objective = latency.NO_OBJECTIVE,
    *,
    prices: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    hardware: Mapping[str, str] = MappingProxyType({}),
    judged: RaceResults | None = None,
) -> list[dict[str, Any]]:
    """Rows of all choices, in the order of `choices`. `runners` says what ran each label. `prices` are those that
    the run weighed, by the classifier's name. `hardware` states what each label had to itself. `judged` are the
    speed-ups, if they are known already."""
    by_label, devices = _by_label(choices, samples), device_shares(choices, hardware)
    judged = judged or judge(choices, samples, baseline)
    rows = []
    for choice, reason in zip(choices, why.reasons(choices, by_label), strict=True):
        own, label = by_label[choice.label], choice.label
        rows.append(
            {
                **_row(choice, runners[label], own, judged),
                "price": about(prices.get(choice.classifier or ""), choice.price_rule),
                "by_turn": _by_turn(own, by_label.get(judged.base[choice.load], [])),
                **latency.figures(own, objective, devices[label]),
                "why": reason,
            }
        )
    return rows


def _by_turn(samples: Sequence[SampleResult], baseline: Sequence[SampleResult]) -> list[dict[str, Any]]:
    """Speed-up and acceptance of each turn, if conversations have several. Each interval holds for itself alone."""
    found, turns = [], sorted({sample.turn for sample in samples})
    for turn in turns if len(turns) > 1 else ():
        own = [sample for sample in samples if sample.turn == turn]
        gain = speedup(own, [sample for sample in baseline if sample.turn == turn])
        steps, accepted = _sum(s.num_spec_steps for s in own), _sum(s.num_accepted_draft_tokens for s in own)
        found.append(
            {
                "turn": turn,
                "speedup": dataclasses.asdict(gain) if gain else None,
                "mean_acceptance_length": _acceptance_length(steps, accepted),
                "prompt_tokens": statistics.median(sample.prompt_tokens for sample in own),
            }
        )
    return found


def devices_in(words: str) -> int:
    """Count the devices in `1 core`, `2 cores: target on 0, draft on 1`, `cuda:0`, `cuda:0 for the target, core 1 for
    the draft`."""
    counted = re.match(r"(\d+) cores?\b", words)
    if counted:
        return int(counted[1])
    return 2 if "for the draft" in words else 1


def works_at_once(words: str) -> bool:
    """Say if target and draft work at once: on devices of their own, or on two streams of one."""
    return "for the draft" in words or "draft on" in words


def device_counts(choices: Sequence[Choice], stated: Mapping[str, str]) -> dict[str, int]:
    """Count the devices of each choice whose hardware is stated, by label. Nobody knows those of a server."""
    ours = [choice.label for choice in choices if choice.spec.role != "server"]
    return {label: devices_in(stated[label]) for label in ours if label in stated}


def device_shares(choices: Sequence[Choice], stated: Mapping[str, str]) -> dict[str, float]:
    """Return each choice's devices, in multiples of the fewest at its load; 1 if they are not known."""
    counts, fewest = device_counts(choices, stated), dict[object, int]()
    for choice in choices:
        if count := counts.get(choice.label):
            fewest[choice.load] = min(count, fewest.get(choice.load, count))
    return {c.label: counts[c.label] / fewest[c.load] if c.label in counts else 1.0 for c in choices}


def usual_baseline(choices: Iterable[Choice]) -> str:
    """Return the strategy that results are relative to unless another is asked for: autoregressive, or of servers alone
    the first."""
    settings = [choice.settings for choice in choices]
    return BASELINE if BASELINE in settings else settings[0]


def baselines(choices: Sequence[Choice], baseline: str = "") -> dict[Load, str]:
    """Return the label of the row that speed-ups are relative to, for each load."""
    baseline = baseline or usual_baseline(choices)
    settings = next((choice.settings for choice in choices if choice.label == baseline), baseline)
    return {choice.load: settings + choice.load.suffix for choice in choices}


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

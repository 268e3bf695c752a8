"""Summaries of runs: one sample's figures, and the rows of a comparison. Standard library only.

Names follow vLLM's per-request metrics. `measure.definitions` says what each means.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from decoding.events import Delivered, Drafted, Event, Finished, Reported, Started, Verified
from decoding.load import ONE, Load
from decoding.measure import latency, why
from decoding.measure.drift import Bin, binned, drift
from decoding.measure.regret import regrets
from decoding.measure.speedups import (
    Speed,
    Speedup,
    break_even_tokens,
    decode_speed,
    end_to_end_speed,
    ratios,
    speedups,
)
from decoding.measure.spent import Spent, spent_in
from decoding.spec import Choice
from decoding.ssd import accounting
from decoding.strategies import BASELINE

Outcome = Literal["identical", "tie", "divergent", "not_compared"]
AUDIT_OUTCOMES: tuple[Outcome, ...] = ("identical", "tie", "divergent", "not_compared")


@dataclass(frozen=True, slots=True)
class Audit:
    """Comparison of one sample's tokens with autoregressive's."""

    outcome: Outcome
    position: int | None = None  # of the first difference, in generated tokens
    token: int | None = None
    expected: int | None = None
    gap: float | None = None  # between the two tokens' scores, in units of the number format's rounding


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt decoded once by one strategy."""

    strategy: str  # the choice's label
    prompt: str
    category: str
    repeat: int
    prompt_tokens: int
    tokens: tuple[int, ...]
    text: str
    reason: str
    prefill_ns: int
    decode_ns: int
    timed_tokens: int  # generated in `decode_ns`: all, but for a contestant whose first tokens come with the prefill
    draft_ns: int
    verify_ns: int
    num_target_passes: int | None  # None, here and below: a server does not say
    num_draft_passes: int | None
    num_spec_steps: int | None
    num_draft_tokens: int | None
    num_accepted_draft_tokens: int | None
    acceptance_histogram: tuple[int, ...]
    drafts_by_position: tuple[int, ...]  # entry i: drafts with more than i tokens
    accepted_by_position: tuple[int, ...]  # entry i: of those, how many had token i accepted
    audit: Audit | None = None
    hits: accounting.Counted | None = None  # decoding.ssd.accounting; None where nothing was prepared ahead
    lost: str = ""  # why the target went on alone, where it did
    load: Load = ONE
    timing: latency.Timing = latency.UNKNOWN
    delivered: int = 0  # tokens that a server sent; 0 where rounds are known
    is_spelled: bool = False  # the server sent text alone: the tokens are how the local tokenizer cuts it
    reported: Reported | None = None  # a server's own figures
    estimated: tuple[Bin, ...] = ()  # a classifier's estimates of judged tokens, binned; empty if none was asked

    @property
    def count(self) -> int:
        """Tokens generated. A server may send text alone, and there may be no tokenizer here."""
        return len(self.tokens) or self.delivered

    @property
    def has_rounds(self) -> bool:
        return self.reported is None

    turn: int = 1  # of its conversation
    conversation: str = ""  # id of the first turn's prompt; empty for a first turn
    rendered: str = ""  # a chat prompt as the target read it; kept by the baseline's first sample alone
    answer: str = ""  # to a chat prompt: the text without the token that ended it; kept by the baseline alone
    spent: Spent | None = None  # where its rounds ended, and its time by cause; None: a server, or not kept

    @property
    def tokens_per_s(self) -> float:
        return self.timed_tokens * 1e9 / self.decode_ns if self.decode_ns else 0.0

    @property
    def end_to_end_tokens_per_s(self) -> float:
        total_ns = self.timing.queued_ns + self.prefill_ns + self.decode_ns
        return self.count * 1e9 / total_ns if total_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        record = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }  # asdict copies each token
        record["audit"] = self.audit and dataclasses.asdict(self.audit)
        record["timing"] = dataclasses.asdict(self.timing)
        record["reported"] = self.reported and dataclasses.asdict(self.reported)
        record["spent"] = self.spent and dataclasses.asdict(self.spent)
        record["load"] = {
            "concurrency": self.load.concurrency,
            "rate": self.load.rate,
            "recorded": self.load.recorded,
        }
        record["tokens_per_s"] = self.tokens_per_s
        return record


def sample_from_events(
    events: Sequence[Event],
    *,
    choice: Choice,
    prompt: str,
    category: str,
    repeat: int,
    tokens: Sequence[int],
    text: str,
) -> Sample:
    """Fold a trace into its sample."""
    started, finished = Started(0, 0), Finished("length", 0, 0)
    drafts: dict[int, Drafted] = {}
    verdicts: list[Verified] = []
    deliveries: list[Delivered] = []
    reported: Reported | None = None
    for event in events:
        match event:
            case Started():
                started = event
            case Drafted():
                drafts[event.round] = event
            case Verified():
                verdicts.append(event)
            case Delivered():
                deliveries.append(event)
            case Reported():
                reported = event
            case Finished():
                finished = event
    ahead = accounting.count(events)
    judged = [(drafts[v.round], v.accepted) for v in verdicts if v.round in drafts]
    timed = [v for v in verdicts if v.start_ns >= started.prefill_ns]
    untimed_tokens = sum(v.accepted + 1 for v in verdicts if v.start_ns < started.prefill_ns)
    untimed_tokens += sum(d.count for d in deliveries if d.end_ns <= started.prefill_ns)
    sample = Sample(
        strategy=choice.label,
        prompt=prompt,
        category=category,
        repeat=repeat,
        prompt_tokens=started.prompt_tokens,
        tokens=tuple(tokens),
        text=text,
        reason=finished.reason,
        prefill_ns=started.prefill_ns,
        decode_ns=finished.end_ns - started.prefill_ns,
        timed_tokens=max(0, (len(tokens) or finished.new_tokens) - untimed_tokens),
        draft_ns=sum(drafts[v.round].end_ns - drafts[v.round].start_ns for v in timed if v.round in drafts)
        + (ahead["busy_ns"] - ahead["hidden_ns"] - ahead["waited_ns"] if ahead else 0),
        verify_ns=sum(v.end_ns - v.start_ns for v in timed),
        num_target_passes=len(verdicts),
        num_draft_passes=sum(draft.passes for draft in drafts.values()) + (ahead["passes"] if ahead else 0),
        **_accepted(judged),
        estimated=binned((d.estimate, a) for d, a in judged) if choice.spec.needs_classifier else (),
        hits=ahead,
        lost=next((verdict.lost for verdict in verdicts if verdict.lost), ""),
        load=choice.load,
        timing=latency.timing(events),
        delivered=sum(d.count for d in deliveries),
        is_spelled=bool(deliveries) and not any(d.tokens for d in deliveries),
        spent=None if reported else spent_in(events, choice.strategy, copies=not choice.spec.needs_draft),
    )
    return _by_server(sample, reported) if reported else sample


def _accepted(judged: Sequence[tuple[Drafted, int]]) -> dict[str, Any]:
    """Count what became of the drafts."""
    longest = max((len(draft.tokens) for draft, _ in judged), default=0)
    return {
        "num_spec_steps": len(judged),
        "num_draft_tokens": sum(draft.rows or len(draft.tokens) for draft, _ in judged),
        "num_accepted_draft_tokens": sum(accepted for _, accepted in judged),
        "acceptance_histogram": tuple(sum(a == i for _, a in judged) for i in range(longest + 1)) if judged else (),
        "drafts_by_position": tuple(sum(len(d.tokens) > i for d, _ in judged) for i in range(longest)),
        "accepted_by_position": tuple(sum(a > i for _, a in judged) for i in range(longest)),
    }


def _by_server(sample: Sample, reported: Reported) -> Sample:
    """Take the server's counts: its rounds are not seen."""
    return dataclasses.replace(
        sample,
        prompt_tokens=sample.prompt_tokens or reported.prompt_tokens or 0,
        num_target_passes=None,
        num_draft_passes=None,
        num_spec_steps=reported.num_spec_steps,
        num_draft_tokens=reported.num_draft_tokens,
        num_accepted_draft_tokens=reported.num_accepted_draft_tokens,
        acceptance_histogram=reported.acceptance_histogram,
        reported=reported,
    )


def sample_from_dict(record: Mapping[str, Any]) -> Sample:
    """Read what `to_dict` wrote, also by an earlier version."""
    known = {name: value for name, value in record.items() if name in _FIELDS}
    if known.get("audit"):
        known["audit"] = Audit(**known["audit"])
    if "load" in known:
        known["load"] = Load(**known["load"])
    if known.get("reported"):
        listed = {**known["reported"], "acceptance_histogram": tuple(known["reported"]["acceptance_histogram"])}
        known["reported"] = Reported(**listed)
    if "timing" in known:
        known["timing"] = latency.Timing(**known["timing"])
    if known.get("spent"):
        known["spent"] = Spent(**known["spent"])
    return Sample(**known)


_FIELDS = frozenset(field.name for field in dataclasses.fields(Sample))


def repeated_8grams(tokens: Sequence[int]) -> float:
    """How repetitive a text is. Loops make every strategy look faster, so each figure comes with this number."""
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
) -> list[dict[str, Any]]:
    """Every choice's row, in the order of `choices`. `runners` names the runner of each label.

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
    rows = []
    for choice in choices:
        own, label, reference = by_label[choice.label], choice.label, base[choice.load]
        row = _row(choice, runners[label], own, gains[label], totals[label])
        length = None if label == reference else break_even_tokens(own, by_label.get(reference, []))
        speed = decode_speed if choice.load == ONE else end_to_end_speed
        by_turn = _by_turn(own, by_label.get(reference, []), speed)
        rows.append({**row, "by_turn": by_turn, "break_even_tokens": length, **latency.figures(own, objective)})
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
    """Every strategy's speed-up. The baseline's own is exactly 1 and makes no other interval wider."""
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

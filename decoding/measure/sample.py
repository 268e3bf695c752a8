"""One sample's figures, folded from its events. Standard library only.

Names follow vLLM's per-request metrics. `measure.definitions` says what each means.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from decoding.choice import Choice
from decoding.core.load import ONE, Load
from decoding.measure.spent import Spent, spent_in
from decoding.trace import accounting
from decoding.trace.events import Delivered, Drafted, Event, Finished, Reported, Started, Verified, frozen

Outcome = Literal["identical", "tie", "divergent", "not_compared"]
AUDIT_OUTCOMES: tuple[Outcome, ...] = ("identical", "tie", "divergent", "not_compared")
PER_OCTAVE = 32  # bins of gaps: each 2.2 % wide
Gaps = tuple[tuple[int, int], ...]  # bin, and how many gaps are in it


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one request, in ns."""

    arrived_ns: int = 0  # since the load began
    queued_ns: int = 0  # from arrival until decoding began
    first_ns: int = 0  # from arrival to the first token
    gaps: Gaps = ()


UNKNOWN = Timing()


@dataclass(frozen=True, slots=True)
class Audit:
    """Comparison of one sample's tokens with autoregressive's."""

    outcome: Outcome
    position: int | None = None  # of the first difference, in generated tokens
    token: int | None = None
    expected: int | None = None
    gap: float | None = None  # between the two tokens' scores, in units of the number format's rounding
    server_dtype: str = ""  # that format, if it is a server's because the server rounds more coarsely than we do

    @property
    def tie_in(self) -> str:
        """Say in whose rounding it is a tie; empty if in our own, or if it is none."""
        return f"{self.server_dtype}, the server's rounding" if self.outcome == "tie" and self.server_dtype else ""


@dataclass(frozen=True, slots=True)
class SampleResult:
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
    hits: accounting.Counted | None = None  # decoding.trace.accounting; None where nothing was prepared ahead
    lost: str = ""  # why the target went on alone, where it did
    load: Load = ONE
    timing: Timing = UNKNOWN
    delivered: int = 0  # tokens that a server sent; 0 where rounds are known
    is_spelled: bool = False  # the server sent text alone: the tokens are how the local tokenizer cuts it
    reported: Reported | None = None  # a server's own figures

    turn: int = 1  # of its conversation
    conversation: str = ""  # id of the first turn's prompt; empty for a first turn
    rendered: str = ""  # a chat prompt as the target read it; kept by the baseline's first sample alone
    answer: str = ""  # to a chat prompt: the text without the token that ended it; kept by the baseline alone
    captures: int = 0  # CUDA graphs recorded meanwhile, in time that counts
    spent: Spent | None = None  # where its rounds ended, and its time by cause; None: a server, or not kept

    @property
    def count(self) -> int:
        """Tokens generated. A server may send text alone, and there may be no tokenizer here."""
        return len(self.tokens) or self.delivered

    @property
    def has_rounds(self) -> bool:
        return self.reported is None

    @property
    def unit(self) -> str:
        """The prompt as which it counts: turns of a conversation are not independent, so that of the first."""
        return self.conversation or self.prompt

    @property
    def request_ns(self) -> int:
        """From the request's arrival to its last token."""
        return self.timing.queued_ns + self.prefill_ns + self.decode_ns

    @property
    def tokens_per_s(self) -> float:
        return self.timed_tokens * 1e9 / self.decode_ns if self.decode_ns else 0.0

    @property
    def end_to_end_tokens_per_s(self) -> float:
        return self.count * 1e9 / self.request_ns if self.request_ns else 0.0

    def to_dict(self) -> dict[str, Any]:
        record = {name: getattr(self, name) for name in _FIELDS}  # asdict copies each token
        for name in _PARTS:
            record[name] = record[name] and dataclasses.asdict(record[name])
        record["load"] = {name: getattr(self.load, name) for name in ("concurrency", "rate", "recorded")}
        return record | {"tokens_per_s": self.tokens_per_s}


def sample_from_events(
    events: Sequence[Event],
    *,
    choice: Choice,
    prompt: str,
    category: str,
    repeat: int,
    tokens: Sequence[int],
    text: str,
) -> SampleResult:
    """Fold a trace into its sample."""
    started: Started
    finished: Finished
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
    sample = SampleResult(
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
        hits=ahead,
        lost=next((verdict.lost for verdict in verdicts if verdict.lost), ""),
        load=choice.load,
        timing=_timing(started, [v.end_ns for v in verdicts] + [d.end_ns for d in deliveries]),
        delivered=sum(d.count for d in deliveries),
        is_spelled=bool(deliveries) and not any(d.tokens for d in deliveries),
        spent=None if reported else spent_in(events, choice.kind, copies=not choice.spec.needs_draft),
    )
    return _by_server(sample, reported) if reported else sample


def _timing(started: Started, bursts: Sequence[int]) -> Timing:
    """Times of a request whose tokens came in bursts, one per verification: a gap is the time between two bursts as a
    user would see it."""
    gaps = Counter(_bin(later - earlier) for earlier, later in itertools.pairwise(bursts))
    first = started.queued_ns + (bursts[0] if bursts else 0)
    return Timing(started.arrived_ns, started.queued_ns, first, tuple(sorted(gaps.items())))


def _bin(gap_ns: int) -> int:
    return round(PER_OCTAVE * math.log2(max(1, gap_ns)))


def gap_in_bin(number: int) -> float:
    return float(2 ** (number / PER_OCTAVE))


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


def _by_server(sample: SampleResult, reported: Reported) -> SampleResult:
    """Take the server's counts: its rounds are not seen."""
    drafts, accepted = _by_position(reported)
    return dataclasses.replace(
        sample,
        prompt_tokens=sample.prompt_tokens or reported.prompt_tokens or 0,
        num_target_passes=None,
        num_draft_passes=None,
        num_spec_steps=reported.num_spec_steps,
        num_draft_tokens=reported.num_draft_tokens,
        num_accepted_draft_tokens=reported.num_accepted_draft_tokens,
        acceptance_histogram=reported.acceptance_histogram,
        drafts_by_position=drafts,
        accepted_by_position=accepted,
        reported=reported,
    )


def _by_position(reported: Reported) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count drafts and accepted tokens by position. A server that does not tell how long its drafts were is taken to
    draft as many tokens each time."""
    histogram = reported.acceptance_histogram
    if not sum(histogram):
        return (), ()
    drafts = reported.drafts_by_position or (sum(histogram),) * (len(histogram) - 1)
    return drafts, tuple(sum(histogram[position + 1 :]) for position in range(len(drafts)))


def sample_from_dict(record: Mapping[str, Any]) -> SampleResult:
    """Read what `to_dict` wrote, also by an earlier version."""
    known = {name: value for name, value in record.items() if name in _FIELDS}
    for name, kind in {**_PARTS, "load": Load}.items():
        if known.get(name):
            known[name] = kind(**{part: frozen(value) for part, value in known[name].items()})
    return SampleResult(**known)


_FIELDS = [field.name for field in dataclasses.fields(SampleResult)]
_PARTS: dict[str, type[Any]] = {"audit": Audit, "timing": Timing, "reported": Reported, "spent": Spent}

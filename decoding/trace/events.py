"""Events of a run: one immutable event per phase of a round, in the past tense. Standard library only.

Times are nanoseconds on one monotonic clock that starts with the sample. The sink numbers events: `seq` starts at 1 and
has no gaps, so a reader can tell a missing event from the end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

StopReason = Literal[
    "limit",  # the lookahead was used up
    "rule",  # the stop rule stopped
    "eos",  # an end token was drafted
    "length",  # no room was left
    "early",  # the verdict that it was prepared for came first
    "match",  # nothing more could be copied
]
Origin = Literal[
    "none",  # no draft
    "fresh",  # drafted now
    "copied",  # copied from the text; the last `passes` tokens, if any, were drafted after that
    "hit",  # prepared
    "miss",  # prepared for others
]
Backup = Literal["", "neural", "ngram", "random", "copy"]  # drafter after a miss; "" after a hit
Outcome = Literal["bonus", "correction"]
FinishReason = Literal["eos", "stop", "length", "context", "cancelled"]


@dataclass(frozen=True, slots=True)
class Started:
    """Both models have read the prompt; rounds begin."""

    kind: ClassVar[str] = "started"
    prompt_tokens: int
    prefill_ns: int
    arrived_ns: int = 0  # when the request arrived, since the load began
    queued_ns: int = 0  # time that the request waited before the sample began


@dataclass(frozen=True, slots=True)
class Prompted:
    """The prompt's tokens, so that a replay can copy from them. All samples of a prompt read the same tokens, so only
    the trace of the baseline's first sample has this event, after `started`."""

    kind: ClassVar[str] = "prompted"
    prompt: tuple[int, ...]  # the trace need not hold their texts
    end_ns: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """The draft of one round is complete."""

    kind: ClassVar[str] = "drafted"
    round: int
    position: int  # tokens in the text before this round
    lookahead: int  # tokens asked for
    tokens: tuple[int, ...]
    confidence: tuple[float, ...]  # the draft's own probability of each token
    estimate: tuple[float, ...]  # the stop rule's estimate that each is accepted; empty if it makes none
    stop: StopReason
    source: Origin
    passes: int  # of the draft model for it
    start_ns: int
    end_ns: int
    backup: Backup = ""
    rows: int = 0  # drafted tokens that are verified, if they are a tree: `tokens` is then one path of it
    ranks: tuple[int, ...] = ()  # of a tree's accepted tokens among its alternatives, then how many the next place had

    @property
    def verified(self) -> int:
        """Number of drafted tokens that the target judges."""
        return self.rows or len(self.tokens)


@dataclass(frozen=True, slots=True)
class Anticipated:
    """While the target verified, the draft's side prepared drafts for its likely outcomes. Sent once the next draft has
    been asked for, so it comes after this round's `verified`. The branch that won is the one that matches that
    verdict."""

    kind: ClassVar[str] = "anticipated"
    round: int
    branches: tuple[tuple[int, int, int], ...]  # (accepted count, the target's token, depth reached)
    predicted_hit: float  # probability that one of them matches
    start_ns: int
    end_ns: int
    fanout: tuple[int, ...] = ()  # entry k: branches for the case that k drafted tokens are accepted
    passes: int = 0  # to open the branches (even if the draft model need not run) and for all their steps
    busy_ns: int = 0  # time from start to end in which the draft worked
    idle_ns: int = 0  # time after its work until the verdict came
    opening_ns: int = 0  # part of the busy time before all branches took their first step
    pass_rows: int = 0  # branches in each pass, of all texts that shared it; 0 in older traces


@dataclass(frozen=True, slots=True)
class Verified:
    """The target has judged the draft and added its own token."""

    kind: ClassVar[str] = "verified"
    round: int
    accepted: int
    token: int
    outcome: Outcome
    wait_ns: int  # time since the previous verdict: drafting, then `held_ns`; `prompts_ns` is another part of it
    start_ns: int
    end_ns: int
    lost: str = ""  # why the target goes on alone, if the draft was lost before this round
    texts: int = 1  # texts whose drafts the same pass verified
    prompt_rows: int = 0  # tokens of other texts' prompts that the same pass read
    held_ns: int = 0  # part of the wait after this text had its draft: the others still drafted or prepared
    prompts_ns: int = 0  # part of the wait in which drafts read the prompts of other texts


@dataclass(frozen=True, slots=True)
class Delivered:
    """A server delivered tokens. One delivery may hold several: those of one verification arrive together."""

    kind: ClassVar[str] = "delivered"
    tokens: tuple[int, ...]  # empty if the server sends text alone
    count: int  # of tokens; without ids, the server's own count, else that of the local tokenizer
    text: str  # empty if `tokens` has the ids and a tokenizer is here
    end_ns: int


@dataclass(frozen=True, slots=True)
class Reported:
    """A server's own figures for this request. A figure that it does not give is None."""

    kind: ClassVar[str] = "reported"
    source: Literal["request", "metrics"] = "request"  # the answer itself, or the counters at /metrics around it
    prompt_tokens: int | None = None
    cached_tokens: int | None = None  # of the prompt, taken from a prefix cache
    new_tokens: int | None = None
    num_spec_steps: int | None = None
    num_draft_tokens: int | None = None
    num_accepted_draft_tokens: int | None = None
    acceptance_histogram: tuple[int, ...] = ()
    drafts_by_position: tuple[int, ...] = ()  # entry i: drafts with more than i tokens
    prefill_ms: float | None = None
    decode_ms: float | None = None
    doubt: str = ""  # what in the answer contradicts these figures
    end_ns: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The sample is complete."""

    kind: ClassVar[str] = "finished"
    reason: FinishReason
    new_tokens: int
    end_ns: int


Event = Started | Prompted | Drafted | Anticipated | Verified | Delivered | Reported | Finished
_KINDS: dict[str, type[Any]] = {
    t.kind: t for t in (Started, Prompted, Drafted, Anticipated, Verified, Delivered, Reported, Finished)
}


class EventSink(Protocol):
    """Receiver of the loop's events. It must be cheap, and it must not raise."""

    def emit(self, event: Event) -> None: ...


class Recorder:
    """Sink that keeps all events in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class NullSink:
    """Sink that keeps nothing, to measure what tracing costs."""

    def emit(self, event: Event) -> None:
        pass


def to_dict(event: Event, seq: int) -> dict[str, Any]:
    return {"seq": seq, "event": event.kind, **dataclasses.asdict(event)}


def from_dict(record: dict[str, Any]) -> Event:
    """Read one event. An unknown kind or field raises ValueError: a trace of another version must not pass."""
    kind = _KINDS.get(record.get("event", ""))
    if kind is None:
        raise ValueError(f"unknown event {record.get('event')!r}")
    fields = {name: frozen(value) for name, value in record.items() if name not in ("seq", "event")}
    try:
        event: Event = kind(**fields)
    except TypeError as error:
        raise ValueError(f"a {kind.kind} event does not have these fields: {error}") from None
    return event


def frozen(value: Any) -> Any:
    """Return tuples in place of the lists of JSON."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value

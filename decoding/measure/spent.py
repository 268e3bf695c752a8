"""Time of rounds by cause, and the places in the text at which rounds ended. Standard library only.

An oracle verifies only where the draft is refused. Any other verification is one too many: the draft stopped too early,
or something else than the draft proposed. Whether a stop was too early, another strategy that drafted there knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from decoding.trace import accounting
from decoding.trace.events import Event, Started, Verified

CAUSES = {  # in the order of the waterfall
    "drafting": "draft price",
    "early": "stopped too early",
    "rejected": "drafted past a refusal",
    "misses": "misses",
    "waits": "waits",
    "others": "waits for others' drafts",
    "prompts": "others' prompts",
    "width": "verification width",
    "overhead": "overhead",
}
OF_DRAFTS = ("drafting", "rejected", "misses", "waits")  # causes whose time a round's draft decides
OF_LOAD = ("others", "prompts")  # causes that only texts which share passes have
BOUND = "bound"

# A text as the rounds made it, one letter a token. The first two are of drafted tokens, the others end a round.
ACCEPTED = "a"  # the draft proposed it
UNKNOWN = "."  # something else than the draft proposed it
REFUSED = "r"  # the draft proposed another token
STOPPED = "s"  # nothing was proposed
EMPTY = "n"  # nothing could be proposed: the text held nothing more to copy
REPLACED = "m"  # the draft's backup drafted before it
UNTIMED = "u"  # the round belongs to the prompt's time
ENDS = (REFUSED, STOPPED, EMPTY, REPLACED)
BY_DRAFT_MODEL = ("", "neural")  # backups
Passes = tuple[tuple[int, bool, int, int], ...]  # texts in a pass, whether it read prompts too, passes, their ns
PAIR = "pair"  # the drafter of all strategies that use the pair's draft, one token after another


@dataclass(frozen=True, slots=True)
class Spent:
    """Ends of the rounds of one sample, and its nanoseconds by cause."""

    places: str  # a letter for each token
    drafter: str  # samples of one drafter make the same proposals along the same text
    drafted: int  # rounds with a draft
    drafting: int
    rejected: int
    misses: int
    waits: int
    others: int = 0
    prompts: int = 0  # between passes; what they add to passes is known by comparing passes
    passes: Passes = ()  # empty: an earlier version did not keep them


# One round ------------------------------------------------------------------------------------------------------------


def _drafting(each: accounting.Round) -> dict[str, int]:
    """Nanoseconds of a round by cause, as far as its draft decides them."""
    draft, taken = each.draft, dict.fromkeys(OF_DRAFTS, 0)
    if not draft:
        return taken
    taken["waits"] = _ns(each.finishing_s + each.preparing_s)
    own = _ns(each.working_s)
    if draft.source == "miss":
        taken["misses"] = own
    elif draft.source == "hit" and not draft.passes:
        taken["waits"] += own
    else:
        # An oracle drafts the first token that the target refuses, too: it ends a round.
        past_refusal = max(0, len(draft.tokens) - each.verdict.accepted - 1)
        taken["rejected"] = own * past_refusal // len(draft.tokens)
        taken["drafting"] = own - taken["rejected"]
    return taken


def _beside(each: accounting.Round) -> dict[str, int]:
    """Nanoseconds that a round waited for other texts, by cause."""
    verdict = each.verdict
    held = verdict.held_ns - _ns(each.preparing_s) if verdict.texts > 1 else 0
    return {"others": max(0, held), "prompts": verdict.prompts_ns}


def _letters(each: accounting.Round, is_timed: bool, copies: bool) -> str:
    draft, accepted = each.draft, each.verdict.accepted
    if not is_timed:
        return UNKNOWN * accepted + UNTIMED
    if draft and draft.backup not in BY_DRAFT_MODEL:
        return UNKNOWN * accepted + REPLACED
    if draft and accepted < len(draft.tokens):
        return ACCEPTED * accepted + REFUSED
    is_empty = copies and (draft is None or draft.stop == "match")
    return ACCEPTED * accepted + (EMPTY if is_empty else STOPPED)


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


# One sample -----------------------------------------------------------------------------------------------------------


def spent_in(events: Sequence[Event], drafter: str, copies: bool) -> Spent:
    """Fold a trace. `drafter` names who proposes, where it is not the pair's draft, one token after another. `copies`:
    it can only copy."""
    rounds, since = list(accounting.rounds(events)), _prefill_ns(events)
    timed = [each for each in rounds if each.verdict.start_ns >= since]
    verdicts = [each.verdict for each in timed]
    taken = [_drafting(each) | _beside(each) for each in timed]
    drafts = [each.draft for each in rounds if each.draft]
    is_usual = all(draft.source != "copied" and not draft.rows for draft in drafts)
    return Spent(
        places="".join(_letters(each, each.verdict.start_ns >= since, copies) for each in rounds),
        drafter=PAIR if is_usual else drafter,
        drafted=sum(each.draft is not None for each in timed),
        passes=added((v.texts, v.prompt_rows > 0, 1, v.end_ns - v.start_ns) for v in verdicts),
        **{cause: sum(one[cause] for one in taken) for cause in (*OF_DRAFTS, *OF_LOAD)},
    )


def added(passes: Iterable[tuple[int, bool, int, int]]) -> Passes:
    """Add up the passes of each kind."""
    counts, ns = Counter[tuple[int, bool]](), Counter[tuple[int, bool]]()
    for texts, read_prompts, count, took in passes:
        counts[texts, read_prompts] += count
        ns[texts, read_prompts] += took
    return tuple((*kind, counts[kind], ns[kind]) for kind in sorted(counts))


def _prefill_ns(events: Iterable[Event]) -> int:
    return next((event.prefill_ns for event in events if isinstance(event, Started)), 0)


@dataclass(frozen=True, slots=True)
class Behind:
    """One round, and the nanoseconds that it adds to each bar."""

    round: accounting.Round
    ns: Mapping[str, int]


def rounds_behind(
    events: Sequence[Event], ends: Iterable[str], row_ns: float, for_prompts: Callable[[Verified], float]
) -> Iterator[Behind]:
    """Yield the rounds of a trace. `ends` are those of `Texts`, `row_ns` is the price of a pass of one row a text, and
    `for_prompts` says what the prompts of others added to a pass."""
    since = _prefill_ns(events)
    timed = (each for each in accounting.rounds(events) if each.verdict.start_ns >= since)
    for each, end in zip(timed, ends, strict=False):
        verify, wait = each.verdict.end_ns - each.verdict.start_ns, each.verdict.start_ns - each.free_ns
        reading = round(for_prompts(each.verdict))
        ns = {BOUND: 0, **dict.fromkeys(CAUSES, 0), **_drafting(each), **_beside(each)}
        ns[end.rstrip("?")] += round(row_ns)
        ns["prompts"] += reading
        ns["width"] = verify - round(row_ns) - reading
        ns["overhead"] = verify + wait - sum(ns.values())
        yield Behind(each, ns)


def is_behind(behind: Behind, cause: str) -> bool:
    """Whether a round belongs to a bar. Every round has overhead. Only a round with a draft has width, or one whose
    pass other texts shared."""
    verdict = behind.round.verdict
    if cause == "width":
        return behind.round.draft is not None or verdict.texts > 1
    if cause == "prompts":
        return verdict.prompt_rows + verdict.prompts_ns > 0
    return cause == "overhead" or behind.ns[cause] != 0

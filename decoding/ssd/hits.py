"""Whether what was prepared was of use, counted over traces. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoding.events import Anticipated, Drafted, Event, Verified
from decoding.ssd.rounds import rounds

Counted = Mapping[str, Any]  # what a sample keeps: plain data, as JSON gives it back


def count(events: Sequence[Event]) -> Counted | None:
    """One sample's; None where nothing was prepared."""
    drafts: dict[int, Drafted] = {}
    verdicts: dict[int, Verified] = {}
    prepared: dict[int, Anticipated] = {}
    for event in events:
        match event:
            case Drafted():
                drafts[event.round] = event
            case Verified():
                verdicts[event.round] = event
            case Anticipated():
                prepared[event.round] = event
    by_position: dict[str, list[int]] = {}
    by_source: dict[str, list[int]] = {}
    predicted = 0.0
    for number, draft in drafts.items():
        if draft.source in ("hit", "miss") and number - 1 in drafts:
            before, is_hit = drafts[number - 1], draft.source == "hit"
            _note(by_position, str(verdicts[number - 1].accepted), is_hit)
            _note(by_source, before.backup or before.source, is_hit)
            predicted += prepared[number - 1].predicted_hit if number - 1 in prepared else 0.0
    if not by_source:
        return None
    return {
        "by_position": by_position,  # accepted count -> hits, outcomes
        "by_source": by_source,  # where the judged draft came from -> hits, outcomes
        "predicted": predicted,
        "passes": sum(event.passes for event in prepared.values()) - _opened_without_a_pass(events),
        "busy_ns": sum(event.busy_ns for event in prepared.values()),
        "hidden_ns": sum(_within(event, verdicts[event.round]) for event in prepared.values()),
        "waited_ns": sum(
            _within(event, drafts[number])
            for event in prepared.values()
            for number in (event.round, event.round + 1)  # its own draft is on its way, or the next one asked for
            if number in drafts
        ),
        "alone_ns": sum(draft.end_ns - draft.start_ns for draft in drafts.values() if draft.passes),
    }


def rates(samples: Sequence[Counted]) -> dict[str, Any]:
    """What they add up to; None throughout where nothing was prepared."""
    by_position, by_source = _added(samples, "by_position"), _added(samples, "by_source")
    hits, outcomes = (sum(pair[i] for pair in by_source.values()) for i in (0, 1))
    drafting = sum(sample["busy_ns"] + sample["alone_ns"] for sample in samples)
    return {
        "hit_rate": hits / outcomes if outcomes else None,
        "predicted_hit_rate": sum(sample["predicted"] for sample in samples) / outcomes if outcomes else None,
        "hit_rate_by_position": {k: hit / all_ for k, (hit, all_) in sorted(by_position.items(), key=_number)},
        "hit_rate_by_source": {name: hit / all_ for name, (hit, all_) in sorted(by_source.items())},
        "hidden_share": sum(sample["hidden_ns"] for sample in samples) / drafting if drafting else None,
    }


def _opened_without_a_pass(events: Sequence[Event]) -> int:
    return sum(each.is_read for each in rounds(events) if each.beside)


def _note(counts: dict[str, list[int]], name: str, is_hit: bool) -> None:
    pair = counts.setdefault(name, [0, 0])
    pair[0] += is_hit
    pair[1] += 1


def _added(samples: Sequence[Counted], name: str) -> dict[str, list[int]]:
    total: dict[str, list[int]] = {}
    for sample in samples:
        for key, (hits, outcomes) in sample[name].items():
            pair = total.setdefault(key, [0, 0])
            pair[0] += hits
            pair[1] += outcomes
    return total


def _number(item: tuple[str, object]) -> int:
    return int(item[0])


def _within(ahead: Anticipated, span: Drafted | Verified) -> int:
    """What was worked on a preparation within a verification, or while the target waited for a draft. Where the draft
    paused, its work is taken as spread evenly."""
    within = min(ahead.end_ns, span.end_ns) - max(ahead.start_ns, span.start_ns)
    return round(ahead.busy_ns * max(0, within) / max(1, ahead.end_ns - ahead.start_ns))

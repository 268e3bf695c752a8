"""Ideal draft lengths: the oracle's lookahead per round, as the DISCO paper draws it. Standard library only.

Works on the records of `replay.records`. An oracle's round drafts until the target would refuse. The published counts
do not say whether the refused token is among the draft's passes, so this module gives both counts: what was accepted,
and what an oracle that drafts must draft.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Chain, Source
from decoding.replay.player import replay
from decoding.strategies.oracle import UntilRefused

BINS = 20  # equal parts of a sample's rounds, first to last
UNLIMITED = 1 << 30
DRAFT_MODEL, BEST = "draft model", "best of each position"  # sources that no strategy names


Passes = dict[str, int]  # of the target, of the draft, and the tokens that were accepted


def lookaheads(record: Record) -> list[int]:
    """Ideal draft length of each round: the tokens that the target accepts in a row."""
    found, at = [], 0
    while at < len(record.runs):
        found.append(record.runs[at])
        at += record.runs[at] + 1
    return found


def analyse(
    prompts: Sequence[str],
    records: Sequence[Record],
    lookahead: int,
    copied: Mapping[str, Sequence[Record]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Compute the figures of one prompt set. Figure 2 (`one`) shows the sample with the median variation, beside a
    static lookahead; 3 and 5 (`by_progress`) the mean over the rounds in each twentieth of a sample; entry n of Figure
    4 (`histogram`) counts rounds with a lookahead of n. `records` are the draft model's, `copied` those of copies along
    the same texts: `sources` are the oracle's passes on each source of drafts, and on the best one of each position.
    Without a draft model, the figures are those of the best copy at each position."""
    sources = {**({DRAFT_MODEL: records} if records else {}), **copied}
    best = [_best(each) for each in zip(*sources.values(), strict=True)]
    records = records or best
    rounds = [lookaheads(record) for record in records]
    flat = [n for one in rounds for n in one]
    counted = Counter(flat)
    typical = sorted(range(len(rounds)), key=lambda i: statistics.pstdev(rounds[i]))[len(rounds) // 2]
    return {
        "samples": len(records),
        "mean": statistics.mean(flat),
        "deviation": statistics.pstdev(flat),
        "by_progress": _by_progress(rounds),
        "histogram": [counted[n] for n in range(max(flat) + 1)],
        "oracle": _oracle(records),
        "static": _static(records, lookahead),
        "one": {
            "prompt": prompts[typical],
            "lookaheads": rounds[typical],
            "oracle": _oracle([records[typical]]),
            "lookahead": lookahead,
            "static": _static([records[typical]], lookahead),
        },
        "sources": {name: _oracle(each) for name, each in {**sources, BEST: best}.items()} if copied else {},
    }


def _best(sources: Sequence[Record]) -> Record:
    """Record of whoever knows at each position which source is right for longest. Its draft passes are not counted."""
    runs, limits = (
        tuple(map(max, zip(*each, strict=True))) for each in zip(*((r.runs, r.limits) for r in sources), strict=True)
    )
    return Record(runs, limits, is_copied=True)


def _by_progress(rounds: Sequence[Sequence[int]]) -> list[float | None]:
    bins: list[list[int]] = [[] for _ in range(BINS)]
    for one in rounds:
        for number, value in enumerate(one):
            bins[min(BINS - 1, BINS * number // len(one))].append(value)
    return [statistics.mean(values) if values else None for values in bins]


def _oracle(records: Sequence[Record]) -> Passes:
    return _passes(records, lambda: UntilRefused(UNLIMITED))


def _static(records: Sequence[Record], lookahead: int) -> Passes:
    return _passes(records, lambda: Chain(lookahead))


def _passes(records: Sequence[Record], source: Callable[[], Source]) -> Passes:
    counts = replay(map(RecordedText, records), source)
    return {"target": counts.target_passes, "draft": counts.draft_passes, "accepted": counts.accepted}

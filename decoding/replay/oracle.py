"""Ideal draft lengths: the oracle's lookahead per round, as the DISCO paper draws it. Standard library only.

Works on the records of `replay.records`. An oracle's round drafts until the target would refuse. The published counts
do not say whether the refused token is among the draft's passes, so this module gives both counts: what was accepted,
and what an oracle that drafts must draft.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Source
from decoding.replay.player import replay
from decoding.strategies.oracle import UntilRefused
from decoding.strategies.static import SameLength

BINS = 20  # equal parts of a sample's rounds, first to last
UNLIMITED = 1 << 30
DRAFT_MODEL, BEST = "draft model", "best of each position"  # sources that no strategy names


@dataclass(frozen=True)
class PassCounts:
    target: int
    draft: int
    accepted: int


@dataclass(frozen=True)
class OneSample:
    """Figure 2: one sample's rounds under the oracle, beside a static lookahead."""

    prompt: str
    lookaheads: Sequence[int]
    oracle: PassCounts
    lookahead: int
    static: PassCounts


@dataclass(frozen=True)
class Analysis:
    samples: int
    mean: float
    deviation: float
    by_progress: Sequence[float | None]  # figures 3 and 5: mean over the rounds in each twentieth of a sample
    histogram: Sequence[int]  # figure 4: entry n counts rounds with a lookahead of n
    oracle: PassCounts
    static: PassCounts  # at the lookahead of figure 2
    one: OneSample
    sources: Mapping[str, PassCounts]  # the oracle on each source of drafts, and on the best source of each position


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
) -> Analysis:
    """Compute the figures of one prompt set. Figure 2 shows the sample with the median variation. `records` are the
    draft model's, `copied` those of copies along the same texts. Without a draft model, the figures are those of the
    best copy at each position."""
    sources = {**({DRAFT_MODEL: records} if records else {}), **copied}
    best = [_best(each) for each in zip(*sources.values(), strict=True)]
    records = records or best
    rounds = [lookaheads(record) for record in records]
    flat = [n for one in rounds for n in one]
    counted = Counter(flat)
    typical = sorted(range(len(rounds)), key=lambda i: statistics.pstdev(rounds[i]))[len(rounds) // 2]
    return Analysis(
        samples=len(records),
        mean=statistics.mean(flat),
        deviation=statistics.pstdev(flat),
        by_progress=_by_progress(rounds),
        histogram=[counted[n] for n in range(max(flat) + 1)],
        oracle=_oracle(records),
        static=_static(records, lookahead),
        one=OneSample(
            prompts[typical],
            rounds[typical],
            _oracle([records[typical]]),
            lookahead,
            _static([records[typical]], lookahead),
        ),
        sources={name: _oracle(each) for name, each in {**sources, BEST: best}.items()} if copied else {},
    )


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


def _oracle(records: Sequence[Record]) -> PassCounts:
    return _passes(records, lambda: UntilRefused(UNLIMITED))


def _static(records: Sequence[Record], lookahead: int) -> PassCounts:
    return _passes(records, lambda: SameLength(lookahead))


def _passes(records: Sequence[Record], source: Callable[[], Source]) -> PassCounts:
    counts = replay(map(RecordedText, records), source)
    return PassCounts(counts.target_passes, counts.draft_passes, counts.accepted)

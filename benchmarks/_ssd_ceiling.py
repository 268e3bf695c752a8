"""Upper bound on SSD's gain over static on this machine: replays at measured costs, without all waits that an ideal
program could avoid. Simulated, and labelled so in the output."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.events import Event
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.replay.records import Record, replay
from decoding.ssd.accounting import rounds
from decoding.strategies.static import SameLength

BAR = 1.3
DEEPEST = 8  # tokens per draft, for both
SHARES = [share / 100 for share in range(1, 101)]  # of a verification, as the cost of a drafted token


@dataclass(frozen=True)
class Ceiling:
    """Costs for the bound. `alone`: static lookaheads. `beside`: a verification while the draft works."""

    records: Sequence[Record]
    alone: CostModel
    beside: CostModel

    def static(self) -> tuple[int, Counts]:
        """Return the best lookahead and its passes."""
        played = {k: self._played(k) for k in range(1, DEEPEST + 1)}
        best = max(played, key=lambda k: self.alone.tokens_per_s(played[k]))
        return best, played[best]

    def over_static(self, lookahead: int, hit_rate: float) -> float:
        """Speed-up over static if all drafting were hidden and answers were free. Only after a miss does the target
        wait."""
        missed = 1.0 - hit_rate
        ideal = dataclasses.replace(self.alone.with_drafting(missed), target=self.beside.target)
        _, before = self.static()
        after = self._played(lookahead)
        pairs = zip(before.parts, after.parts, strict=True)
        return statistics.median(self.alone.seconds(was) / ideal.seconds(becomes) for was, becomes in pairs)

    def best(self, hit_rates: Mapping[int, float]) -> tuple[int, float]:
        """Return the lookahead with the highest speed-up at its hit rate, and that speed-up."""
        return max(((k, self.over_static(k, rate)) for k, rate in hit_rates.items()), key=lambda found: found[1])

    def with_drafts_at(self, share: float) -> Ceiling:
        """The same pair, if a drafted token took that share of a verification."""
        factor = share * self.alone.verify(1, 1) / self.alone.draft(1)
        return dataclasses.replace(self, alone=self.alone.with_drafting(factor))

    def _played(self, lookahead: int) -> Counts:
        return replay(self.records, lambda: SameLength(lookahead))


def beside(alone: CostModel, traces: Iterable[Sequence[Event]]) -> CostModel:
    """Cost of verifying beside a draft at work. Median over rounds: a stall now and then is no price."""
    found = [(len(each.draft.tokens) + 1, each.verifying_s) for trace in traces for each in rounds(trace) if each.draft]
    slower = statistics.median(seconds / alone.verify(1, rows) for rows, seconds in found)
    return dataclasses.replace(alone, target={1: [(rows, slower * seconds) for rows, seconds in alone.target[1]]})


def ceiling(
    records: Iterable[Record], alone: CostModel, beside: CostModel, hit_rates: Mapping[int, float]
) -> dict[str, Any]:
    """Compute the bounds. `hit_rates` are the best measured ones by lookahead."""
    here = Ceiling([*records], alone, beside)
    static, _ = here.static()
    hidden, found = here.best(dict.fromkeys(range(1, DEEPEST + 1), 1.0)), here.best(hit_rates)
    enough = (share for share in SHARES if here.with_drafts_at(share).best(hit_rates)[1] >= BAR)
    return {
        "static": static,
        "every verdict prepared for": {"lookahead": hidden[0], "over static": hidden[1]},
        "with measured hits": {"lookahead": found[0], "hit_rate": hit_rates[found[0]], "over static": found[1]},
        "share of a drafted token": alone.draft(1) / alone.verify(1, 1),
        "share for the bar": next(enough, None),
        "bar": BAR,
    }

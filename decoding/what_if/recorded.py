"""Facts about a pair, read off the traces of a comparison, place by place: would the draft have said what the
target says, how sure was it, and what did passes cost. No model runs.

Strategies that write the same text meet the same draft in every place of it, so what one of them drafted is known for
all. Where none of them drafted, nothing is known; a replay is then made twice, once for each possibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from decoding.costs import Costs
from decoding.replay import Record
from decoding.what_if.ahead import Ahead
from decoding.what_if.places import Places


@dataclass(frozen=True)
class Recorded:
    prompts: list[Places]
    prompt_count: int  # how many there are in all
    costs: Costs
    widest: int  # rows of the widest verification whose price was measured
    ahead: Ahead | None = None  # None where no SSD ran that could say what it costs
    is_clear: bool = True  # longer drafts took longer, so that their price is more than a share of noise

    @cached_property
    def if_refused(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=False)) for places in self.prompts]

    @cached_property
    def if_accepted(self) -> list[tuple[Places, Record]]:
        return [(places, places.record(hopes=True)) for places in self.prompts]

    def alone(self, tokens: int) -> float:
        """Seconds that autoregressive takes for so many tokens, at the same prices."""
        return tokens * (self.costs.verify(1) + self.costs.round + self.costs.token)

    @property
    def known(self) -> float:
        """The share of places where some strategy drafted."""
        places = [said for prompt in self.prompts for said in prompt.draftable]
        return sum(said is not None for said in places) / len(places)

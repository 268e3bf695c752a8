"""Facts about a pair, read from the traces of a comparison: whether the draft would propose the target's token at each
position, with what probability, and the costs of passes. No model runs.

Strategies that write the same text would draft the same token at each position, so a position where one of them drafted
is known for all. Positions where none drafted are unknown. So a replay runs twice: it takes all unknown tokens as
refused, then all as accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from decoding.choice import Choice
from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Judging, Sight
from decoding.prices.cost_model import CostModel
from decoding.replay.what_if.ahead import SsdTracks
from decoding.replay.what_if.places import TracedText


@dataclass(frozen=True)
class RecordedComparison:
    prompts: list[TracedText]
    prompt_count: int  # prompts of the comparison; `prompts` may hold fewer
    costs: CostModel
    widest: Mapping[int, int]  # by number of users: rows of the widest verification that was measured
    ahead: SsdTracks | None = None  # None if no SSD run shows its costs
    judges: Mapping[str, Judging] = field(default_factory=dict)  # of copied tokens, by classifier
    is_clear: bool = True  # longer drafts took longer, so their cost is more than noise

    @property
    def knows_the_draft(self) -> bool:
        """Whether the traces show what the draft model would say, and at which price."""
        return self.costs.draft(1) > 0 and all(places.is_drafted for places in self.prompts)

    @property
    def knows_prompts(self) -> bool:
        return all(places.prompt_tokens for places in self.prompts)

    def judge(self, choice: Choice) -> Judging | None:
        """Return the judge of copied tokens that this choice asks; None if it asks none, or nobody has it."""
        return self.judges.get(choice.classifier or "")

    @cached_property
    def if_refused(self) -> list[tuple[TracedText, Record]]:
        return [(places, places.record(hopes=False)) for places in self.prompts]

    @cached_property
    def if_accepted(self) -> list[tuple[TracedText, Record]]:
        return [(places, places.record(hopes=True)) for places in self.prompts]

    def texts(self, sees: Sight, hopes: bool) -> list[RecordedText]:
        """Return the texts as a source with this sight sees them. `hopes`: assume that tokens that nobody drafted would
        have been accepted."""
        known = self.if_accepted if hopes else self.if_refused
        return [places.text(record, sees, hopes) for places, record in known]

    def undrafted(self, tokens: int) -> float:
        """Seconds that autoregressive takes for so many tokens, at the same costs."""
        return tokens * (self.costs.verify(1, 1) + self.costs.fixed(1) + self.costs.token)

    @property
    def known(self) -> float:
        """Share of positions where some strategy drafted."""
        places = [said for prompt in self.prompts for said in prompt.draftable]
        return sum(said is not None for said in places) / len(places)

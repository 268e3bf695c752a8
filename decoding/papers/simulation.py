"""Several texts at once by the simulator: SSD, and by replay what runs beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from decoding.choice import Choice
from decoding.papers.together import ByBatch
from decoding.prices.cost_model import CostModel
from decoding.replay.at_load import PlayedRequest, PlayedRun, play
from decoding.replay.ssd.playing import ANYTIME, Track
from decoding.replay.ssd.recording import plan_of
from decoding.replay.ssd.simulator import simulate_together

Speeds = Sequence[float]  # of each text, in tokens per second


@dataclass(frozen=True)
class SimulatedBatches(ByBatch):
    """Recorded texts at costs of joint passes. The draft has devices of its own."""

    texts: Sequence[Track]
    costs: CostModel
    vocab: int
    prices: Callable[[Choice], CostModel]  # of a choice that prepares ahead
    devices: int = 1  # for the draft: each prepares the branches of the choice
    _played: dict[str, Speeds] = field(default_factory=dict)  # by label

    def speeds(self, choice: Choice) -> Speeds:
        if choice.label not in self._played:
            self._played[choice.label] = [*map(_speed, self._play(choice).requests)]
        return self._played[choice.label]

    def _play(self, choice: Choice) -> PlayedRun:
        texts = choice.load.concurrency
        if not choice.spec.prepares_ahead:
            return play(self.texts, choice.sources(), self.costs, texts, drafts=choice.spec.needs_draft)
        plan = plan_of(choice, self.vocab, None)
        return simulate_together(self.texts, plan, self.prices(choice), texts, ANYTIME, self.devices)

    def on(self, devices: int) -> SimulatedBatches:
        """Return the same texts with so many devices for the draft."""
        return replace(self, devices=devices, _played={})


def _speed(request: PlayedRequest) -> float:
    """Tokens per second after the first round, which ends with the prompt's time; of a text of one round, over all."""
    later = sum(one.accepted + 1 for one in request.rounds[1:])
    return later / (request.end - request.first) if later else request.tokens / request.end

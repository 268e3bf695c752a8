"""SSD of several texts by the simulator, beside ordinary speculative decoding of the same texts by replay."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from decoding.replay.at_load import Played, Run, play
from decoding.replay.joint_costs import JointCosts
from decoding.reproduce import together
from decoding.reproduce.bootstrap import Estimate, median
from decoding.reproduce.together import Backup
from decoding.spec import Choice
from decoding.ssd.simulation.playing import ANYTIME
from decoding.ssd.simulation.preparing import Preparing
from decoding.ssd.simulation.recording import plan_of
from decoding.ssd.simulation.together import Tracked
from decoding.ssd.simulation.track import Track

Speeds = Sequence[float]  # of each text, in tokens per second


@dataclass(frozen=True)
class Simulation:
    """Recorded texts at costs of joint passes. The draft has a core of its own."""

    texts: Sequence[Tracked]
    costs: JointCosts
    vocab: int

    @classmethod
    def of(cls, tracks: Iterable[Track], costs: JointCosts, vocab: int) -> Simulation:
        return cls([Tracked(track.record, len(track.prompt), track=track) for track in tracks], costs, vocab)

    def gain(self, texts: int, backup: Backup, prices: Callable[[Choice], Preparing]) -> Estimate:
        """Speed of a text under SSD over the same text's with a fixed lookahead, each at its best lookahead."""
        plain = [play(self.texts, choice.policy, self.costs, texts) for choice in together.plain(texts)]
        ahead = [self._ahead(choice, prices(choice)) for choice in together.ahead(texts, backup)]
        return median([ours / theirs for ours, theirs in zip(_fastest(ahead), _fastest(plain), strict=True)])

    def _ahead(self, choice: Choice, preparing: Preparing) -> Run:
        plan = plan_of(choice, self.vocab, None)
        return preparing.simulate(self.texts, plan, self.costs, choice.load.concurrency, ANYTIME)


def _fastest(runs: Iterable[Run]) -> Speeds:
    return max(([*map(_speed, run.requests)] for run in runs), key=statistics.median)


def _speed(request: Played) -> float:
    """Tokens per second after the first round, which ends with the prompt's time; of a text of one round, over all."""
    later = sum(one.accepted + 1 for one in request.rounds[1:])
    return later / (request.end - request.first) if later else request.tokens / request.end

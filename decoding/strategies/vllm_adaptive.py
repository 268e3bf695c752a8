"""vLLM's adaptive verification on our loop: every draft has its full length, and the rows of the verification go to the
places that are likeliest to be accepted (vLLM's pull requests 47808 and 52228).

A place's score is its survival: the product of the acceptance estimates of its text's draft up to it. Each round a
budget of rows is chosen that brings the most tokens per second at the measured prices, from the scores of the round
before, as in vLLM. vLLM then admits that many of the best places. Here every place is admitted that scores at least as
high as the last one that the budget would have paid for: the same on average, and no text waits for another's draft.

A place's own estimate comes from the draft's likeliest token and not from the token drawn, so the output is unbiased.
"""

from collections.abc import Sequence

from decoding.core.batch_state import BatchState
from decoding.drafting.params import Param
from decoding.drafting.recalibration import Recalibration
from decoding.drafting.source import Chain, Judgement, View
from decoding.drafting.strategy import LOOKAHEAD, Looks, Strategy


class AdmittedScores:
    """The scores of all texts' places, this round's and the last one's. The draft's highest probability is the estimate
    of acceptance, corrected by the verdicts of all texts."""

    def __init__(self) -> None:
        self.estimates = Recalibration()
        self.cut = 0.0  # the lowest score that is admitted
        self._round = 0
        self._scores: list[float] = []

    def note(self, batch: BatchState, scores: Sequence[float]) -> None:
        if batch.round != self._round:
            self.cut = self._cheapest_cut(batch) if self._scores else 0.0
            self._round, self._scores = batch.round, []
        self._scores += scores

    def _cheapest_cut(self, batch: BatchState) -> float:
        """Find the number of places that brings the most tokens per second, and return the score of the last one."""
        if not batch.costs:
            return 0.0
        costs, texts = batch.costs, batch.running
        drafting = costs.drafted(texts, len(self._scores) / texts) + costs.fixed(texts)
        tokens, cut = float(texts), 2.0  # a score above all: none is admitted
        best = tokens / (drafting + costs.verify(texts, texts))
        for places, score in enumerate(sorted(self._scores, reverse=True), 1):
            tokens += score
            if (speed := tokens / (drafting + costs.verify(texts, texts + places))) > best:
                best, cut = speed, score
        return cut


class AdaptiveVerification(Chain):
    sees = "peak"
    trims = True
    prices_rounds = True

    def __init__(self, lookahead: int) -> None:
        super().__init__(lookahead)
        self._peaks: list[float] = []

    def begin(self, view: View) -> None:
        self._peaks = []

    def stops(self, seen: float) -> bool:
        self._peaks.append(seen)
        return False

    def keeps(self, drafted: int) -> int:
        ranking = self.batch.common(AdmittedScores)
        scores: list[float] = []
        for peak in self._peaks[:drafted]:
            scores.append((scores[-1] if scores else 1.0) * ranking.estimates.corrected(peak))
        ranking.note(self.batch, scores)
        return sum(score >= ranking.cut for score in scores)

    def judged(self, judgement: Judgement) -> None:
        peaks = self._peaks[: judgement.tokens]
        self.batch.common(AdmittedScores).estimates.learn(peaks, judgement.accepted)


STRATEGY = Strategy(
    slug="vllm-adaptive",
    title="Adaptive verification",
    summary="vLLM's rule: drafts at full length, and verifies the positions that are likeliest to be accepted.",
    role="ranked",
    order=8,
    looks=Looks("⋈", "M-9,-7L9,7V-7L-9,7Z", "#034c5b", "#7fdfe6", 37),
    params=(Param("lookahead", "int", 7, LOOKAHEAD, 1, 64),),
    source=lambda given, lookahead: AdaptiveVerification(lookahead),
    grid=lambda: ({"lookahead": lookahead} for lookahead in (3, 5, 7)),
)

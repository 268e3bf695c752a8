"""Planning of strategies that prepare drafts while the target verifies: the simulator plays every setting along the
recorded texts, at prices that are measured on this machine.

The search is coarse, then fine: the settings of a strategy's `grid`, then those that its `finer` names near the best.
Prices depend on the setting, because two models at once slow each other down. So the best setting is run shortly too
before the fine search, and everything is simulated again at prices of all these runs. Autoregressive runs beside them:
what slows the machine down then slows it down too, so that the promised ratio holds. The best of many settings is often
one whose prices were too low: it is run three more times, and what it gains then corrects all promises. Where the draft
can work beside the target, all this is done there, and the best setting is then run shortly in turn too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.records import RecordedText
from decoding.drafting.strategy import Settings, Strategy
from decoding.errors import BadStrategy
from decoding.models.devices import free_bytes
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import counted
from decoding.prices.fit_ahead import prices_beside
from decoding.prompts.prompt import PromptItem
from decoding.replay.at_load import PlayedRun
from decoding.replay.confirming import Traces, run_all
from decoding.replay.planning import AUTOREGRESSIVE, Prediction, RecordedSet
from decoding.replay.player import replay
from decoding.replay.probing import typical
from decoding.replay.ssd.simulator import simulate
from decoding.replay.workload import AGAIN, COARSE, planned_ahead
from decoding.ssd.memory import needed_by
from decoding.ssd.speculator.speculator import plan_of
from decoding.ssd.transport.two_lanes import PLACEMENT
from decoding.strategies import STRATEGIES
from decoding.trace.events import Event, Finished, Started

MOST_TOKENS = 4000  # of all texts that are simulated: a setting takes about a second

Trace = Sequence[Event]


class _Cancelled(Exception):
    pass


def left_out(sampling: Sampling, study: RecordedSet) -> dict[str, str]:
    """Say why, of each strategy that prepares ahead and cannot be simulated with these dice."""
    if study.is_undrafted or sampling.fixes_the_text:
        return {}
    why = "its simulation needs a fixed text: greedy or shared dice"
    return {one.slug: why for one in STRATEGIES.values() if one.prepares_ahead}


def has_both_placements(pair: ModelPair) -> bool:
    """Whether the draft may as well work beside the target, on a processor core, as in turn with it."""
    return pair.draft_process is not None and pair.target.device.type == "cpu"


@dataclass
class Simulating:
    """Recorded texts of a pair, and its costs without preparation."""

    pair: ModelPair
    prompts: Sequence[PromptItem]
    sampling: Sampling
    study: RecordedSet
    costs: CostModel
    classifier_name: str | None  # None: the pair has none
    on_progress: Callable[[int], None] = lambda done: None
    cancelled: Callable[[], bool] = never
    _done: int = field(default=0, init=False)

    @cached_property
    def classifier(self) -> DraftClassifier | None:
        return None if self.classifier_name is None else self.pair.classifier(self.classifier_name, self.sampling)

    @cached_property
    def texts(self) -> list[RecordedText]:
        """Some texts of every part of the prompts, as many as are simulated within seconds."""
        return self.study.few(MOST_TOKENS, self.classifier)

    def is_beside(self, choice: Choice) -> bool:
        """Return whether the models work at once: on devices of their own, or on two streams of one. How much they slow
        each other there is in the prices, which are measured in that placement."""
        return bool(self.pair.process_of(choice)) or self.pair.placement_of(choice) == PLACEMENT

    def fits(self, choice: Choice) -> bool:
        """Whether its branches fit into memory now."""
        is_beside = self.pair.process_of(choice) is not None
        device = torch.device("cpu") if is_beside else self.pair.require_draft(choice.label).device
        return needed_by(choice, self.pair.vocab) <= free_bytes(device)

    def predict(self, choice: Choice, measured: CorrectedPrices) -> Prediction:
        """Simulate a setting. The speed-up is computed as in a comparison: from the total times of all prompts."""
        played, by = self.simulated(choice, measured.prices, self.texts), measured.correction
        return Prediction(choice, by * played.tokens_per_s_device, by * self._undrafted(self.texts) / played.seconds)

    def gain_in_runs(self, choice: Choice, prices: CostModel) -> float:
        """Simulate a setting on the prompts that `run` decodes, and return its speed-up over all of them together."""
        names = {prompt.id for prompt in typical(self.prompts)}
        every = zip(self.study.recordings, self.study.texts(self.classifier), strict=True)
        texts = [text for recording, text in every if recording.prompt in names]
        return self._undrafted(texts) / self.simulated(choice, prices, texts).seconds

    def _undrafted(self, texts: Sequence[RecordedText]) -> float:
        """Seconds that autoregressive takes for these texts, at the costs without preparation."""
        return self.costs.seconds(replay(texts, AUTOREGRESSIVE.sources()))

    def simulated(self, choice: Choice, prices: CostModel, texts: Sequence[RecordedText]) -> PlayedRun:
        plan = plan_of(choice, self.pair.vocab, self.classifier)
        return simulate(texts, plan, prices, self.is_beside(choice))

    def choice(self, strategy: Strategy, params: Settings) -> Choice:
        placed = {"placement": "beside"} if has_both_placements(self.pair) else {}
        return choose(strategy.slug, {**placed, **params}).asking(self.classifier_name or "")

    def run(self, choices: Sequence[Choice], runs: ShortRuns) -> CorrectedPrices:
        """Run the choices and autoregressive shortly, prompt by prompt, and add their traces to `runs`."""
        tried, prompts, traces, before = [AUTOREGRESSIVE, *choices], typical(self.prompts), Traces(), self._done
        run_all(
            self.pair,
            prompts,
            self.sampling,
            tried,
            sink_for=traces.sink_for,
            on_progress=lambda done: self.on_progress(before + done),
            cancelled=self.cancelled,
        )
        if self.cancelled():
            raise _Cancelled
        self._done += len(tried) * len(prompts)
        runs.undrafted += traces.pop(AUTOREGRESSIVE.label)
        for own in traces.values():
            runs.ahead += own
        return CorrectedPrices(prices_beside(self.costs, runs.ahead), runs.drift(self.costs))


@dataclass
class ShortRuns:
    """Traces of autoregressive and of a strategy that prepares ahead, from the same minutes."""

    undrafted: list[Trace] = field(default_factory=list)
    ahead: list[Trace] = field(default_factory=list)

    @property
    def gain(self) -> float:
        """Speed-up over autoregressive, over all prompts together."""
        return sum(map(_seconds, self.undrafted)) / sum(map(_seconds, self.ahead))

    def drift(self, costs: CostModel) -> float:
        """How many times as long as by its costs autoregressive took here."""
        return statistics.median(_seconds(trace) / costs.seconds(counted(trace)) for trace in self.undrafted)


@dataclass(frozen=True)
class CorrectedPrices:
    prices: CostModel
    correction: float  # by which promises are multiplied

    def corrected(self, gains: Sequence[float], simulated: float) -> CorrectedPrices:
        """Correct by the speed-ups of short runs and the simulated one. The median leaves out a run that the machine
        slowed down."""
        return replace(self, correction=statistics.median(gains) / simulated)


def predict_ahead(simulating: Simulating) -> list[Prediction]:
    """Predict the settings of every strategy that prepares ahead: of its grid, and near the best of that. A target
    alone has no draft to prepare."""
    if simulating.study.is_undrafted:
        return []
    has_classifier = simulating.classifier_name is not None
    found: list[Prediction] = []
    for strategy in planned_ahead(simulating.sampling, has_classifier=has_classifier):
        with suppress(_Cancelled):
            found += _searched(simulating, strategy)
    return found


def _searched(simulating: Simulating, strategy: Strategy) -> Iterable[Prediction]:
    tried = [simulating.choice(strategy, params) for params in strategy.grid()]
    coarse, runs = [choice for choice in tried if simulating.fits(choice)], ShortRuns()
    if not coarse:
        return ()
    measured = simulating.run(spread(coarse, COARSE), runs)
    measured = simulating.run([_best(simulating, coarse, measured)], runs)
    near = _near(simulating, _best(simulating, coarse, measured))
    fine = list({choice.label: choice for choice in [*coarse, *near]}.values())
    measured = _corrected(simulating, _best(simulating, fine, measured), measured)
    best = _best(simulating, fine, measured)
    return [*(simulating.predict(choice, measured) for choice in fine), *_in_turn(simulating, best)]


def _in_turn(simulating: Simulating, best: Choice) -> Iterator[Prediction]:
    """Predict the best setting in the other placement, at prices of a short run there."""
    if has_both_placements(simulating.pair):
        other = simulating.choice(best.spec, {**best.params, "placement": "in-turn"})
        yield simulating.predict(other, simulating.run([other], ShortRuns()))


def _corrected(simulating: Simulating, best: Choice, measured: CorrectedPrices) -> CorrectedPrices:
    """Correct by the speed-up of the best setting in short runs of its own, and by simulation on the same prompts."""
    gains = []
    for _ in range(AGAIN):
        simulating.run([best], runs := ShortRuns())
        gains.append(runs.gain)
    return measured.corrected(gains, simulating.gain_in_runs(best, measured.prices))


def _near(simulating: Simulating, best: Choice) -> Iterator[Choice]:
    """Settings near the best one. Those that the strategy itself refuses are left out."""
    for params in best.spec.finer(best.params):
        with suppress(BadStrategy):
            if simulating.fits(choice := simulating.choice(best.spec, params)):
                yield choice


def _best(simulating: Simulating, choices: Sequence[Choice], measured: CorrectedPrices) -> Choice:
    predictions = [simulating.predict(choice, measured) for choice in choices]
    return max(predictions, key=lambda prediction: prediction.tokens_per_s).choice


def spread(choices: Sequence[Choice], count: int) -> list[Choice]:
    """The first, the last, and some between, at even distances."""
    last = len(choices) - 1
    return [choices[round(last * number / (count - 1))] for number in range(count)] if last >= count else [*choices]


def _seconds(trace: Trace) -> float:
    """Seconds from the end of the prefill."""
    [started] = (event for event in trace if isinstance(event, Started))
    [finished] = (event for event in trace if isinstance(event, Finished))
    return (finished.end_ns - started.prefill_ns) * 1e-9

"""Evidence for figures: recordings, prices and runs, each made once and kept, so that figures share them and a rerun
goes on where an earlier one was killed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from decoding.backends import joint_probing
from decoding.choice import Choice, choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco import training
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.papers import by_temperature, together, transfer
from decoding.papers.bootstrap import Estimate, median
from decoding.papers.recordings import Recordings
from decoding.papers.runs import Ran, Traces, run
from decoding.papers.settings import (
    BATCHES,
    BRANCHES_EACH,
    CAP,
    LONGEST_TOGETHER,
    LOOKAHEADS,
    NEEDS,
    TEMPERATURES,
)
from decoding.papers.simulation import SimulatedBatches
from decoding.papers.together import MergedRuns
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_from, undisturbed
from decoding.replay import planning, probing
from decoding.replay.planning import RecordedSet
from decoding.replay.ssd.playing import ANYTIME
from decoding.replay.ssd.recording import track_of
from decoding.replay.ssd.simulator import simulate
from decoding.replay.workload import samples_of_probe
from decoding.ssd.speculator.state import plan_for
from decoding.strategies import disco, ssd, threshold
from decoding.strategies.disco import RULES


@dataclass
class Evidence(Recordings):
    classifier_name: str | None = ""  # None: there is none

    def lacks(self, needs: Iterable[str]) -> str:
        """Say what is missing of these needs; empty if nothing is."""
        return "; ".join(NEEDS[need] for need in needs if not self._has(need))

    def _has(self, need: str) -> bool:
        match need:
            case "a classifier":
                return self.classifier is not None
            case "a second core":
                return self.has_second_core
            case "sets to move between" if self.also.prompts:
                return min(len(self.prompts), len(self.also.prompts)) >= transfer.FEWEST
            case "sets to move between":
                return self.classifier is not None and len(self.categories) > 1
            case _:
                return len(self.categories) > 1

    @cached_property
    def classifier(self) -> DraftClassifier | None:
        name = self.classifier_name
        return (
            None if name is None or self.pair.classifier_at(name) is None else self.pair.classifier(name, self.sampling)
        )

    @property
    def misfit(self) -> str:
        """Warn of a classifier that was trained for another sampling. Its prices are measured here."""
        name = self.classifier_name
        return "" if name is None or not self.classifier else self.pair.misfit("This figure", name, self.sampling)

    @property
    def has_second_core(self) -> bool:
        return self.pair.process_of(choose(ssd.STRATEGY.slug)) is not None

    @cached_property
    def categories(self) -> dict[str, list[int]]:
        """Numbers of the prompts of each category."""
        found: dict[str, list[int]] = {}
        for number, prompt in enumerate(self.prompts):
            found.setdefault(prompt.category or "none", []).append(number)
        return found

    @cached_property
    def judged(self) -> list[list[tuple[float, float]]]:
        """The classifier's estimate and the verdict for each judged token, prompt by prompt."""
        assert self.classifier, "only figures that need a classifier ask"
        found: list[list[tuple[float, float]]] = [[] for _ in self.study.recordings]
        labelled = training.label(self.study.recordings)
        said = self.classifier(labelled.rows).tolist()
        rows = zip(labelled.prompts.tolist(), said, labelled.accepted.tolist(), strict=True)
        for number, estimate, accepted in rows:
            found[number].append((estimate, accepted))
        return found

    # Prices and runs --------------------------------------------------------------------------------------------------

    @cached_property
    def costs(self) -> CostModel:
        """Costs of passes at the study's sampling."""
        phase, due = (
            "measuring prices",
            samples_of_probe(len(self.prompts), classifiers=int(self.classifier is not None)),
        )
        self.on_progress(phase, 0, due)
        name = self.classifier_name if self.classifier else None

        def probed() -> dict[str, Any]:
            costs = probing.probe(self.pair, self.prompts, self.sampling, name, partial(self.on_progress, phase))
            return costs.for_one()

        kept = self._kept("costs", probed)
        self.on_progress(phase, due, due)
        return CostModel.from_dict(kept)

    @cached_property
    def joint(self) -> CostModel:
        """Costs of passes that several texts share."""
        self.on_progress("measuring joint passes", 0, len(BATCHES))
        kept = self._kept("joint prices", self._joint)
        self.on_progress("measuring joint passes", len(BATCHES), len(BATCHES))
        return CostModel.from_dict(kept)

    def _joint(self) -> dict[str, Any]:
        return joint_probing.measure(self.pair, BATCHES[-1], self.at(0.0)).to_dict()

    @cached_property
    def lookahead(self) -> int:
        """Best static lookahead by replay: by the median over prompts, as figures show it."""
        study, costs = self.study, self.costs
        baseline = study.play(planning.AUTOREGRESSIVE)
        best = max(planning.STATICS, key=lambda choice: costs.speedup(study.play(choice), baseline))
        return int(best.params["lookahead"])

    def part(self, places: Sequence[int]) -> RecordedSet:
        """The study on some of its prompts."""
        return RecordedSet([self.study.recordings[i] for i in places], self.study.words)

    @cached_property
    def transferred(self) -> dict[tuple[str, str], Estimate]:
        """Speed over the best static lookahead, by the set that a classifier was trained on and the set it judges."""
        return transfer.matrix(dict(zip(self.names_of_sets, (self.study, self.also_study), strict=True)), self.costs)

    @property
    def names_of_sets(self) -> list[str]:
        """Names of the two sets, which may be parts of one."""
        is_same = self.own_set == self.also.name
        return [self.own_set, f"{self.also.name}, further" if is_same else self.also.name]

    def tuned(self, study: RecordedSet) -> dict[str, Counts]:
        """Passes of each of DISCO's rules at the classifier's own thresholds."""
        thresholds = {rule: self.priced.tuned(rule) for rule in RULES}
        return planning.tuned(study, self.priced, thresholds)

    @cached_property
    def priced(self) -> DraftClassifier:
        """The classifier at the study's prices. What runs from now on uses them too."""
        assert self.classifier_name is not None, "only figures that need a classifier ask"
        return self.pair.priced(self.classifier_name, self.costs, self.sampling)

    @property
    def stopping(self) -> dict[str, Choice]:
        """Choices of DISCO's speed-up table, by what the paper calls them."""
        found = {
            "static, 5 tokens": planning.static(5),
            "best static": planning.static(self.lookahead),
            "rule of +2 and -1": planning.HEURISTIC,
            "confidence of 0.4": parse_choices(f"{threshold.STRATEGY.slug}:0.4,cap={CAP}")[0],
        }
        if self.classifier and self.priced:  # from here on the pair's classifier has the study's prices
            for rule in RULES:
                named = {"rule": rule, "classifier": self.classifier_name}
                found[f"DISCO, {rule}"] = choose(disco.STRATEGY.slug, named)
        return found

    @cached_property
    def ran(self) -> Ran:
        """DISCO's table, run."""
        return self._ran("running DISCO's table", [planning.AUTOREGRESSIVE, *self.stopping.values()], self.sampling)[0]

    @property
    def speculating(self) -> list[Choice]:
        """SSD and static at the same lookaheads."""
        return [*map(planning.static, LOOKAHEADS), *(by_temperature.ahead(k, "uniform") for k in LOOKAHEADS)]

    def fastest(self, *, is_ahead: bool) -> Choice:
        """The fastest SSD, or fixed lookahead, of those that ran."""
        kind = [choice for choice in self.speculating if choice.spec.prepares_ahead is is_ahead]
        return max(kind, key=lambda choice: self.ran_ssd.ratio(choice.label, planning.AUTOREGRESSIVE.label).value)

    @cached_property
    def ran_ssd(self) -> Ran:
        return self._ssd[0]

    @cached_property
    def prices(self) -> CostModel:
        """Costs of SSD's steps, from the runs of `ran_ssd`."""
        return self._ssd[1]

    @cached_property
    def single(self) -> CostModel:
        """Costs of passes where no draft works beside the target, from the same runs."""
        return self._ssd[2]

    @cached_property
    def _ssd(self) -> tuple[Ran, CostModel, CostModel]:
        ran, made = self._ran("running SSD", [planning.AUTOREGRESSIVE, *self.speculating], self.at(0.0), _priced)
        assert made is not None
        return ran, CostModel.from_dict(made["beside"]), CostModel.from_dict(made["alone"])

    @cached_property
    def ran_together(self) -> MergedRuns | None:
        """SSD and static by batch size, each size kept as soon as it has run. None without a second core."""
        if not self.has_second_core:
            return None
        sampling = together.shortened(self.at(0.0))
        return MergedRuns.of(self._ran(together.phase(n), together.choices(n), sampling)[0] for n in BATCHES)

    @cached_property
    def ran_by_temperature(self) -> dict[float, dict[str, Estimate]]:
        """Speed of SSD over that of static by temperature, then by fan-out: each at the lookahead that was best at
        temperature 0. Empty without a second core."""
        if not self.has_second_core:
            return {}
        plain, best = (self.fastest(is_ahead=is_ahead) for is_ahead in (False, True))
        ahead = {name: by_temperature.ahead(int(best.params["lookahead"]), name) for name in by_temperature.FAN_OUTS}
        choices = [plain, *ahead.values()]
        return {
            temperature: {name: ran.ratio(choice.label, plain.label) for name, choice in ahead.items()}
            for temperature in TEMPERATURES
            for ran in [self._ran(by_temperature.phase(temperature), choices, self.at(temperature))[0]]
        }

    def simulated(self, lookaheads: Iterable[int]) -> dict[int, Estimate]:
        """Tokens per second of SSD by the simulator: the median over greedy texts."""
        return {lookahead: median(self._played(lookahead)) for lookahead in lookaheads}

    @cached_property
    def simulated_together(self) -> SimulatedBatches:
        """SSD and static by batch size, simulated along the heads of the greedy texts."""
        heads = [recording.head(LONGEST_TOGETHER) for recording in self.texts_at(0.0).recordings]
        return SimulatedBatches([*map(track_of, heads)], self.joint, self.pair.vocab, self._preparing)

    def _preparing(self, choice: Choice) -> CostModel:
        """Costs of preparing from the runs at this load, or else from those of one text."""
        ran = self.ran_together
        found = ran.preparing(choice, self.joint) if ran else None
        return found or undisturbed(self.joint, self.prices, self.single)

    def _played(self, lookahead: int) -> list[float]:
        settings = SpeculatorSettings(lookahead, BRANCHES_EACH * (lookahead + 1), "uniform", "neural")
        plan = plan_for(settings, self.pair.vocab)
        return [simulate([track], plan, self.prices, ANYTIME).tokens_per_s_device for track in self.tracks]

    def _ran(
        self,
        phase: str,
        choices: Sequence[Choice],
        sampling: Sampling,
        also: Callable[[Sequence[Choice], Traces], dict[str, Any]] | None = None,
    ) -> tuple[Ran, dict[str, Any] | None]:
        every = [*{choice.label: choice for choice in choices}.values()]
        due = len(every) * len(self.prompts)

        def make() -> dict[str, Any]:
            ran, traces = run(
                self.pair,
                self.prompts,
                every,
                sampling,
                on_progress=lambda done: self.on_progress(phase, done, due),
                cancelled=self.cancelled,
            )
            self._require_whole()
            return {"ran": ran.to_dict(), "also": also(every, traces) if also else None}

        kept = self._kept(phase, make)
        self.on_progress(phase, due, due)
        return Ran(**kept["ran"]), kept["also"]


def _priced(choices: Sequence[Choice], traces: Traces) -> dict[str, Any]:
    single, beside = (
        [trace for c in choices if c.spec.prepares_ahead is is_ahead for trace in traces[c.label]]
        for is_ahead in (False, True)
    )
    return {
        "beside": prices_from(single, beside).to_dict(),
        "alone": costs_from(single).for_one(),
    }

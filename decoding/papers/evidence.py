"""Evidence for figures: recordings, prices and runs, each made once and kept, so that figures share them and a rerun
goes on where an earlier one was killed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from decoding.backends.joint_probing import Probing
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose, parse_choices
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco import training
from decoding.disco.classifier import DraftClassifier
from decoding.errors import Cancelled
from decoding.papers import batches
from decoding.papers.batches import Ran, SimulatedBatches
from decoding.papers.bootstrap import Estimate, median
from decoding.papers.chances import outcomes_of
from decoding.papers.outcomes import Outcomes
from decoding.papers.settings import (
    AUTOREGRESSIVE,
    BATCHES,
    BRANCHES_EACH,
    CAP,
    CONSTANTS,
    HELD_BACK,
    LONGEST_TOGETHER,
    LOOKAHEADS,
    NEEDS,
    STATICS,
    TABLE,
    TEMPERATURES,
)
from decoding.papers.shelf import Shelf
from decoding.prices.cost_model import CostModel, Counts
from decoding.prices.fit import costs_from
from decoding.prices.fit_ahead import prices_beside, undisturbed
from decoding.prompts.prompt import PromptItem
from decoding.replay import planning, probing
from decoding.replay.confirming import Traces, run_all
from decoding.replay.planning import RecordedSet
from decoding.replay.ssd.simulator import simulate
from decoding.replay.workload import samples_of_probe
from decoding.ssd.speculator.speculator import plan_of
from decoding.strategies import disco, ssd, threshold
from decoding.strategies.disco import RULES

OnDone = Callable[[int], None]


class Phase(NamedTuple):
    """Part of the evidence. Progress is counted in its samples."""

    name: str
    samples: int
    kept_as: str  # on the shelf; empty: an attempt always makes it


@dataclass
class Evidence:
    pair: ModelPair
    prompts: Sequence[PromptItem]
    sampling: Sampling  # of DISCO's figures; SSD's have temperatures of their own
    shelf: Shelf
    on_progress: Callable[[str, int, int], None] = lambda phase, done, due: None  # samples done and due
    on_kept: Callable[[str, Any], None] = lambda name, data: None
    cancelled: Callable[[], bool] = never
    classifier_name: str | None = ""  # None: there is none
    _texts: dict[float, RecordedSet] = field(init=False, default_factory=dict)

    # What there is ----------------------------------------------------------------------------------------------------

    def lacks(self, needs: Iterable[str]) -> str:
        """Say what is missing of these needs; empty if nothing is."""
        return "; ".join(NEEDS[need] for need in needs if not self._has[need])

    @cached_property
    def _has(self) -> dict[str, bool]:
        return {
            "a classifier": self.classifier is not None,
            "a second core": self.has_second_core,
            "several categories": len(self.categories) > 1,
        }

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

    @cached_property
    def has_second_core(self) -> bool:
        return self.pair.process_of(choose(ssd.STRATEGY.slug)) is not None

    @cached_property
    def categories(self) -> dict[str, list[int]]:
        """Numbers of the prompts of each category."""
        found: dict[str, list[int]] = {}
        for number, prompt in enumerate(self.prompts):
            found.setdefault(prompt.category or "none", []).append(number)
        return found

    def at(self, temperature: float) -> Sampling:
        """The study's sampling at another temperature, with dice that fix the text."""
        return dataclasses.replace(self.sampling, temperature=temperature, dice="shared")

    # Phases -----------------------------------------------------------------------------------------------------------

    @cached_property
    def phases(self) -> dict[str, list[Phase]]:
        """Phases of each piece of evidence, in the order in which they are made. Figures name the pieces."""
        prompts, classifiers = len(self.prompts), int(self.classifier is not None)

        def run(name: str, choices: int) -> Phase:
            return Phase(name, choices * prompts, f"samples of {name}")

        def outcomes(temperature: float, *constants: float) -> Phase:
            kept_as = f"outcomes {temperature:g} {' '.join(f'{c:g}' for c in constants)}"
            return Phase(_recording(temperature), prompts, kept_as)

        return {
            "study": [Phase("recording", prompts, "")],
            "costs": [
                Phase("measuring prices", samples_of_probe(prompts, classifiers=classifiers), "prices of passes")
            ],
            "ran": [run("running DISCO's table", TABLE + len(RULES) * classifiers)],
            "greedy": [outcomes(0.0, 1.0)],
            "ran_ssd": [run("running SSD", 1 + 2 * len(LOOKAHEADS))],
            "joint": [Phase("measuring joint passes", len(BATCHES), "prices of joint passes")],
            "ran_together": [
                run(f"running SSD, {Load(n)}", len(batches.choices(n))) for n in BATCHES * self.has_second_core
            ],
            "temperatures": [outcomes(temperature, 1.0) for temperature in TEMPERATURES[1:]],
            "constants": [outcomes(1.0, *CONSTANTS)],
        }

    def keep(self, name: str, data: Any) -> None:
        """Put a piece, or a finished figure, on the shelf."""
        self.shelf.write(name, data)
        self.on_kept(name, data)

    def _kept(self, phase: Phase, make: Callable[[OnDone], Any]) -> Any:
        """Take what a phase makes from the shelf, or make it and put it there."""
        name, due, kept_as = phase
        if (kept := self.shelf.read(kept_as)) is None:
            self.on_progress(name, 0, due)
            kept = make(lambda done: self.on_progress(name, done, due))
            self._require_whole()
            self.keep(kept_as, kept)
        self.on_progress(name, due, due)
        return kept

    def _require_whole(self) -> None:
        if self.cancelled():
            raise Cancelled("The study was cancelled. What was finished is on the shelf.")

    # Recordings -------------------------------------------------------------------------------------------------------

    @cached_property
    def study(self) -> RecordedSet:
        """Recordings at the study's own sampling, with what a refused draft would have gone on with."""
        return self._recorded(self.phases["study"][0].name, self.sampling, tails=True)

    def _recorded(self, phase: str, sampling: Sampling, tails: bool) -> RecordedSet:
        """Record each prompt. Texts that are kept are not written again."""
        due, name = len(self.prompts), f"texts {sampling.temperature:g} {sampling.dice}"
        known = self.shelf.read(name) if sampling.fixes_the_text else None
        found = planning.study(
            self.pair,
            self.prompts,
            sampling,
            tails=tails,
            texts=known or {},
            on_progress=lambda done: self.on_progress(phase, done, due),
            cancelled=self.cancelled,
        )
        self._require_whole()
        if known is None:
            self.keep(name, {r.prompt: list(r.tokens[r.prompt_tokens :]) for r in found.recordings})
        return found

    def texts_at(self, temperature: float) -> RecordedSet:
        if temperature not in self._texts:
            self._texts[temperature] = self._recorded(_recording(temperature), self.at(temperature), tails=False)
        return self._texts[temperature]

    @cached_property
    def greedy(self) -> list[Outcomes]:
        """Outcomes of each prompt at temperature 0."""
        return self._outcomes(self.phases["greedy"][0], 0.0)[1.0]

    @cached_property
    def temperatures(self) -> dict[float, list[Outcomes]]:
        """Outcomes of each prompt by temperature."""
        warm = zip(TEMPERATURES[1:], self.phases["temperatures"], strict=True)
        return {0.0: self.greedy, **{t: self._outcomes(phase, t)[1.0] for t, phase in warm}}

    @cached_property
    def constants(self) -> dict[float, list[Outcomes]]:
        """Outcomes at temperature 1 for constants of Saguaro sampling."""
        return self._outcomes(self.phases["constants"][0], 1.0, CONSTANTS)

    def _outcomes(
        self, phase: Phase, temperature: float, constants: Sequence[float] = (1.0,)
    ) -> dict[float, list[Outcomes]]:
        def make(_: OnDone) -> list[list[dict[str, Any]]]:
            rows, sampling, draft = [], self.at(temperature), self.pair.require_draft("Hits of SSD")
            for recording in self.texts_at(temperature).recordings:
                self._require_whole()
                tokens, text = recording.tokens[: recording.prompt_tokens], recording.tokens[recording.prompt_tokens :]
                found = outcomes_of(self.pair.target, draft, tokens, text, sampling, constants, HELD_BACK)
                rows.append([found[constant].to_dict() for constant in constants])
            return rows

        rows = self._kept(phase, make)
        return {c: [Outcomes(**row[i]) for row in rows] for i, c in enumerate(constants)}

    @cached_property
    def judged(self) -> list[list[tuple[float, float]]]:
        """The classifier's estimate and the verdict for each judged token, prompt by prompt."""
        assert self.classifier, "only figures that need a classifier ask"
        labelled = training.label(self.study.recordings)
        said = self.classifier(labelled.rows).tolist()
        rows = zip(said, labelled.accepted.tolist(), strict=True)
        return [[*islice(rows, len(recording.matches))] for recording in self.study.recordings]

    # Prices -----------------------------------------------------------------------------------------------------------

    @cached_property
    def costs(self) -> CostModel:
        """Costs of passes at the study's sampling."""
        [phase] = self.phases["costs"]
        name = self.classifier_name if self.classifier else None

        def probed(_: OnDone) -> dict[str, Any]:
            on_progress = partial(self.on_progress, phase.name)
            return probing.probe(self.pair, self.prompts, self.sampling, name, on_progress).for_one()

        return CostModel.from_dict(self._kept(phase, probed))

    @cached_property
    def joint(self) -> CostModel:
        """Costs of passes that several texts share."""
        probing = Probing(self.pair, BATCHES[-1], self.at(0.0), self.pair.caches())
        made = self._kept(self.phases["joint"][0], lambda _: probing.measured().to_dict())
        return CostModel.from_dict(made)

    @cached_property
    def lookahead(self) -> int:
        """Best static lookahead by replay: by the median over prompts, as figures show it."""
        study, costs = self.study, self.costs
        baseline = study.play(AUTOREGRESSIVE)
        best = max(STATICS, key=lambda choice: costs.speedup(study.play(choice), baseline))
        return int(best.params["lookahead"])

    def part(self, places: Sequence[int]) -> RecordedSet:
        """The study on some of its prompts."""
        return RecordedSet([self.study.recordings[i] for i in places], self.study.words)

    def tuned(self, study: RecordedSet) -> dict[str, Counts]:
        """Passes of each of DISCO's rules at the classifier's own thresholds."""
        thresholds = {rule: self.priced.tuned(rule) for rule in RULES}
        return planning.tuned(study, self.priced, thresholds)

    @cached_property
    def priced(self) -> DraftClassifier:
        """The classifier at the study's prices. What runs from now on uses them too."""
        assert self.classifier_name is not None, "only figures that need a classifier ask"
        return self.pair.priced(self.classifier_name, self.costs, self.sampling)

    # Runs -------------------------------------------------------------------------------------------------------------

    @property
    def stopping(self) -> dict[str, Choice]:
        """Choices of DISCO's speed-up table, by what the paper calls them."""
        found = {
            "static, 5 tokens": STATICS[4],
            "best static": STATICS[self.lookahead - 1],
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
        return self._ran(self.phases["ran"][0], [AUTOREGRESSIVE, *self.stopping.values()], self.sampling)[0]

    @property
    def speculating(self) -> list[Choice]:
        """SSD and static at the same lookaheads."""
        return [STATICS[k - 1] for k in LOOKAHEADS] + [batches.ahead_of(k, BRANCHES_EACH) for k in LOOKAHEADS]

    def fastest(self, *, is_ahead: bool) -> Choice:
        """The fastest SSD, or fixed lookahead, of those that ran."""
        kind = [choice for choice in self.speculating if choice.spec.prepares_ahead is is_ahead]
        return max(kind, key=lambda choice: self.ran_ssd.ratio(choice, AUTOREGRESSIVE).value)

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
        ran, made = self._ran(self.phases["ran_ssd"][0], [AUTOREGRESSIVE, *self.speculating], self.at(0.0), prices_of)
        return ran, CostModel.from_dict(made["beside"]), CostModel.from_dict(made["alone"])

    @cached_property
    def ran_together(self) -> Ran | None:
        """SSD and static by batch size, each size kept as soon as it has run. None without a second core."""
        shorter = min(LONGEST_TOGETHER, self.sampling.max_new_tokens)
        sampling = dataclasses.replace(self.at(0.0), max_new_tokens=shorter)
        samples: dict[str, Any] = {}
        for texts, phase in zip(BATCHES, self.phases["ran_together"], strict=False):
            samples |= self._ran(phase, batches.choices(texts), sampling)[0].samples
        return Ran(samples) if samples else None

    def _ran(
        self,
        phase: Phase,
        choices: Sequence[Choice],
        sampling: Sampling,
        also: Callable[[Sequence[Choice], Traces], Any] = lambda choices, traces: None,
    ) -> tuple[Ran, Any]:
        every = [*{choice.label: choice for choice in choices}.values()]

        def make(on_done: OnDone) -> dict[str, Any]:
            traces = Traces()
            rows = run_all(
                self.pair,
                self.prompts,
                sampling,
                every,
                sink_for=traces.sink_for,
                on_progress=on_done,
                cancelled=self.cancelled,
            )
            self._require_whole()
            samples = {
                label: [{name: one[name] for name in batches.KEPT} for one in row["samples"]]
                for label, row in rows.items()
            }
            return {"ran": samples, "also": also(every, traces)}

        kept = self._kept(phase, make)
        return Ran(kept["ran"]), kept["also"]

    # Simulations ------------------------------------------------------------------------------------------------------

    def simulated(self, lookaheads: Iterable[int]) -> dict[int, Estimate]:
        """Tokens per second of SSD by the simulator: the median over greedy texts."""
        texts = [recording.played for recording in self.texts_at(0.0).recordings]
        plans = {k: plan_of(batches.ahead_of(k, BRANCHES_EACH), self.pair.vocab, None) for k in lookaheads}
        return {
            k: median([simulate([text], plan, self.prices, beside=True).tokens_per_s_device for text in texts])
            for k, plan in plans.items()
        }

    @cached_property
    def simulated_together(self) -> SimulatedBatches:
        """SSD and static by batch size, simulated along the heads of the greedy texts."""
        texts = [recording.head(LONGEST_TOGETHER).played for recording in self.texts_at(0.0).recordings]
        return SimulatedBatches(texts, self.joint, lambda c: plan_of(c, self.pair.vocab, None), self._preparing)

    def _preparing(self, choice: Choice) -> CostModel:
        """Costs of preparing from the runs at this load, or else from those of one text."""
        ran = self.ran_together
        found = ran.preparing(choice, self.joint) if ran else None
        return found or undisturbed(self.joint, self.prices, self.single)


def _recording(temperature: float) -> str:
    """Name of a phase."""
    return f"recording at temperature {temperature:g}"


def prices_of(choices: Sequence[Choice], traces: Traces) -> dict[str, Any]:
    """Measure prices of passes alone, and of those beside a draft that prepares."""
    single, beside = (
        [trace for c in choices if c.spec.prepares_ahead is is_ahead for trace in traces[c.label]]
        for is_ahead in (False, True)
    )
    alone = costs_from(single)
    return {"beside": prices_beside(alone, beside).to_dict(), "alone": alone.for_one()}

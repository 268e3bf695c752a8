"""Run a comparison. Whoever asked hears the replies of `messages`."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product

from decoding.backends.contestants.servers.running import ServersOnly
from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.errors import DrafthouseError
from decoding.measure.measurement import Measurement
from decoding.measure.sample import Audit, SampleResult
from decoding.measure.schedule import SampleKey, stints
from decoding.models.devices import is_lost
from decoding.models.fast.runner import FastRunner
from decoding.prompts.prompt import first_turns
from decoding.replay.weighing import settle_prices
from worker.engine.pairs import describe_machine, load_pair
from worker.engine.residents import Residents
from worker.jobs.comparison.messages import (
    READING,
    WARMING,
    WEIGHING,
    Audited,
    Broke,
    SampleDecoded,
    SampleId,
    ToCompare,
    Tuned,
    Weighed,
)
from worker.jobs.comparison.tracing import Tracing, which
from worker.messages import Cancelled, Emit, JobProgress, PairLoaded
from worker.servers import opened

logger = logging.getLogger("drafthouse.engine")
LAST_LINES = 6
ELSEWHERE = "the servers' own machines"


def compare(order: ToCompare, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
    """Carry out the order, and send traces while samples are decoded."""
    pair, loaded = _load_backend(order, residents)
    decode = pair.tokenizer.decode if pair.tokenizer else _in_no_words
    with closing(pair), Tracing(emit, decode, is_traced=order.is_traced) as tracing:
        Comparing(order, pair, emit, tracing, cancelled).run(loaded)


def _load_backend(order: ToCompare, residents: Residents) -> tuple[ModelPair | ServersOnly, PairLoaded]:
    """Load the pair, or none if servers run alone."""
    if order.pair:
        return load_pair(order.pair, residents, opened(order.servers))
    return ServersOnly(opened(order.servers)), PairLoaded(describe_machine(ELSEWHERE, ELSEWHERE, threads=0))


def _in_no_words(tokens: Sequence[int]) -> str:
    """Decode without a tokenizer: servers send text beside their tokens then."""
    return ""


class Comparing:
    def __init__(
        self, order: ToCompare, pair: ModelPair | ServersOnly, emit: Emit, traces: Tracing, cancelled: Cancelled
    ) -> None:
        self._order, self._pair, self._emit, self._traces, self._cancelled = order, pair, emit, traces, cancelled
        self._given_up = set(order.given_up)
        self._measurement = Measurement(
            pair, order.prompts, order.choices, order.sampling, order.repeats, traces.sink_for, cancelled
        )

    def run(self, loaded: PairLoaded) -> None:
        """Decode the missing samples, and report each when it is finished."""
        self._read_prompts()
        self._measurement.choices = self._begin()
        described = self._described(loaded)
        self._emit(described)
        self._measurement.warm_up(on_progress=lambda done, due: self._emit(JobProgress(WARMING, done, due)))
        if isinstance(target := self._pair.target, FastRunner):
            target.judging.is_settled = True
            if found := target.judging.told:
                self._emit(Tuned({**described.hardware, "kernels": {**target.facts.kernels, **found}}))
        self._weigh()
        self._decode_all()

    def _read_prompts(self) -> None:
        """Encode what is known before anything is decoded, so that prompts that cannot be decoded are told now and not
        after an hour. Refuse if all are. A prompt that is too long costs only itself."""
        prompts = first_turns(self._order.prompts)
        self._emit(JobProgress(READING, 0, len(prompts)))
        refused = [(prompt, why) for prompt in prompts if (why := self._measurement.refusal(prompt))]
        self._emit(JobProgress(READING, len(prompts), len(prompts)))
        if len(refused) == len(prompts):
            raise refused[0][1]
        for prompt, why in refused:
            self._give_up(self._every(prompts=[prompt.id]), str(why))

    def _begin(self) -> list[Choice]:
        """Start what the choices need, and return those that can run. Refuse what this machine cannot run; a server
        that cannot be met costs its own samples, not those of the others."""
        self._pair.begin([choice for choice in self._order.choices if choice.spec.role != "server"])
        return [choice for choice in self._order.choices if choice.spec.role != "server" or self._meets(choice)]

    def _meets(self, choice: Choice) -> bool:
        try:
            self._pair.begin([choice])
        except DrafthouseError as error:
            if self._order.needs_servers:
                raise
            self._give_up(self._every(labels=[choice.label]), str(error))
            return False
        return True

    def _described(self, loaded: PairLoaded) -> PairLoaded:
        """Add what there is to say about each choice."""
        choices, longest, pair = self._order.choices, self._measurement.longest, self._pair
        hardware = {choice.label: pair.contestant(choice).hardware(choice, longest) for choice in choices}
        return replace(
            loaded,
            hardware={**loaded.hardware, "by_strategy": hardware},
            runners={choice.label: pair.contestant(choice).runner(choice) for choice in choices},
            serves={
                str(choice.params["name"]): pair.contestant(choice).served_model(choice)
                for choice in self._measurement.choices
                if choice.spec.role == "server"
            },
            warnings=pair.misfits(choices, self._order.sampling),
        )

    def _weigh(self) -> None:
        trouble = list[str]()
        prices = settle_prices(
            self._measurement,
            self._order.prices,
            trouble.append,
            lambda done, due: self._emit(JobProgress(WEIGHING, done, due)),
        )
        if prices or trouble:
            self._emit(Weighed(prices, *trouble))

    def _decode_all(self) -> None:
        measurement, order = self._measurement, self._order
        running = {choice.label for choice in measurement.choices}
        finished = [sample for sample in order.finished if sample.strategy in running]
        before = {(sample.strategy, sample.prompt, sample.repeat): sample for sample in finished}
        measurement.remember(before.values())
        for group in measurement.schedule():
            due = [key for key in group if (key.prompt.id, key.repeat) not in order.done_heats]
            samples = [before[which(key)] for key in due if which(key) in before]
            left = [key for key in due if which(key) not in before and which(key) not in self._given_up]
            for stint in stints(self._askable(left)):
                samples += self._decode(stint)
                if self._cancelled():
                    return
            audited = measurement.audited(samples)
            self._emit(Audited([one if one.audit else replace(one, audit=NOTHING_TO_COMPARE) for one in audited]))

    def _askable(self, keys: Iterable[SampleKey]) -> Iterator[SampleKey]:
        """Yield the samples that can be decoded: a later turn may follow an answer that there is not."""
        for key in keys:
            if refusal := self._measurement.refusal(key.prompt, key.repeat):
                self._give_up([which(key)], str(refusal))
            else:
                yield key

    def _decode(self, stint: Sequence[SampleKey]) -> Iterator[SampleResult]:
        """Decode these samples. One that breaks is reported, and the rest go on."""
        left = dict.fromkeys(map(which, stint))
        try:
            for key, sample in self._measurement.try_stint(stint):
                del left[which(key)]
                if isinstance(sample, DrafthouseError):
                    self._traces.finish(which(key))
                    self._give_up([which(key)], str(sample))
                elif sample.reason == "cancelled":
                    return
                else:
                    self._emit(SampleDecoded(sample, self._traces.finish(which(key))))
                    yield sample
        except Exception as error:
            logger.exception("an error of our own")
            last = "\n".join(traceback.format_exc().splitlines()[-LAST_LINES:])
            self._give_up(left, f"The engine met an error of its own, {type(error).__name__}. It said last:\n{last}")
            if is_lost(error):
                raise

    def _every(self, labels: Sequence[str] = (), prompts: Sequence[str] = ()) -> Iterable[SampleId]:
        """Every sample of these labels and prompts; none named: of all."""
        order = self._order
        return product(
            labels or [choice.label for choice in order.choices],
            prompts or [prompt.id for prompt in order.prompts],
            range(order.repeats),
        )

    def _give_up(self, samples: Iterable[SampleId], sentence: str) -> None:
        """Report samples that cannot be decoded, unless that is known or nothing is left to do for them."""
        fresh = [one for one in samples if one not in self._given_up and one[1:] not in self._order.done_heats]
        self._given_up.update(fresh)
        if fresh:
            self._emit(Broke(fresh, sentence))


NOTHING_TO_COMPARE = Audit("not_compared")  # autoregressive's sample broke

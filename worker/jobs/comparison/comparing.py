"""Decode the missing samples of a comparison, and report each when it is finished."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from decoding.backends.contestants.servers.servers_only import ServersOnly
from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.errors import DrafthouseError
from decoding.measure.comparison import Measurement
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import SampleKey, stints
from decoding.models.devices import is_lost
from decoding.replay.weighing import settle_prices
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.jobs.comparison.messages import Audited, Broke, SampleDecoded, ToCompare, Weighed, Which
from worker.jobs.comparison.tracing import Tracing, which
from worker.messages import Cancelled, Emit, JobProgress, PairLoaded
from worker.servers import opened

logger = logging.getLogger("drafthouse.engine")
LAST_LINES = 6
WARMING, WEIGHING = "warming up", "measuring costs"
ELSEWHERE = "the servers' own machines"


def compare(order: ToCompare, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
    pair, loaded = ground(order, residents)
    emit(loaded)
    with closing(pair), Tracing(emit, pair.tokenizer.decode if pair.tokenizer else in_no_words) as tracing:
        pair.begin([choice for choice in order.choices if choice.spec.role != "server"])
        comparison = Measurement(
            pair,
            order.prompts,
            [choice for choice in order.choices if meets(pair, choice, order, emit)],
            order.sampling,
            order.repeats,
            sink_for=tracing.sink_for,
            cancelled=cancelled,
        )
        comparison.warm_up(on_progress=lambda done, due: emit(JobProgress(WARMING, done, due)))
        trouble = list[str]()
        prices = settle_prices(
            comparison, order.prices, trouble.append, lambda done, due: emit(JobProgress(WEIGHING, done, due))
        )
        if prices or trouble:
            emit(Weighed(prices, *trouble))
        running = {choice.label for choice in comparison.choices}
        finished = [sample for sample in order.finished if sample.strategy in running]
        before = {(sample.strategy, sample.prompt, sample.repeat): sample for sample in finished}
        comparison.remember(before.values())
        for group in comparison.schedule():
            due = [key for key in group if (key.prompt.id, key.repeat) not in order.settled]
            samples = [before[which(key)] for key in due if which(key) in before]
            left = [key for key in due if which(key) not in before and which(key) not in order.given_up]
            for stint in stints(askable(comparison, left, emit)):
                samples += decode(comparison, stint, tracing, emit)
                if cancelled():
                    return
            emit(Audited([sample for sample in comparison.audited(samples) if sample.audit]))


def ground(order: ToCompare, residents: Residents) -> tuple[ModelPair | ServersOnly, PairLoaded]:
    """Load the pair, or none if servers run alone."""
    if order.pair:
        pair, loaded = load_pair(order.pair, residents, order.choices, opened(order.servers))
        longest = Measurement(pair, order.prompts, order.choices, order.sampling).longest
        by_strategy = {choice.label: pair.hardware_of(choice, longest) for choice in order.choices}
        return pair, replace(loaded, hardware={**loaded.hardware, "by_strategy": by_strategy})
    alone = ServersOnly(opened(order.servers))
    hardware = {choice.label: alone.hardware_of(choice) for choice in order.choices}
    runners = {choice.label: alone.runner_of(choice) for choice in order.choices}
    return alone, PairLoaded({"device_name": ELSEWHERE, "by_strategy": hardware}, runners)


def in_no_words(tokens: Sequence[int]) -> str:
    """Decode without a tokenizer: servers send text beside their tokens then."""
    return ""


def meets(pair: ModelPair | ServersOnly, choice: Choice, order: ToCompare, emit: Emit) -> bool:
    """Whether the choice can run. A server that cannot be met costs its own samples, not those of the others."""
    if choice.spec.role != "server":
        return True
    try:
        pair.begin([choice])
    except DrafthouseError as error:
        every = ((choice.label, prompt.id, repeat) for repeat in range(order.repeats) for prompt in order.prompts)
        left = (one for one in every if one not in order.given_up and one[1:] not in order.settled)
        _broke(left, str(error), emit)
        return False
    return True


def askable(comparison: Measurement, keys: Iterable[SampleKey], emit: Emit) -> Iterator[SampleKey]:
    """Yield the samples that can be decoded, and report the others. A prompt that is too long costs only itself."""
    for key in keys:
        if refusal := comparison.refusal(key.prompt, key.repeat):
            emit(Broke(which(key), str(refusal)))
        else:
            yield key


def decode(comparison: Measurement, stint: Sequence[SampleKey], tracing: Tracing, emit: Emit) -> Iterator[SampleResult]:
    """Decode these samples. One that breaks is reported, and the rest go on."""
    left = {which(key) for key in stint}
    try:
        for key, sample in comparison.tried(stint):
            left.discard(which(key))
            if isinstance(sample, DrafthouseError):
                emit(Broke(which(key), str(sample)))
            elif sample.reason == "cancelled":
                return
            else:
                emit(SampleDecoded(sample, tracing.finish(which(key))))
                yield sample
    except Exception as error:
        logger.exception("an error of our own")
        last = "\n".join(traceback.format_exc().splitlines()[-LAST_LINES:])
        _broke(left, f"The engine met an error of its own, {type(error).__name__}. It said last:\n{last}", emit)
        if is_lost(error):
            raise


def _broke(all_left: Iterable[Which], sentence: str, emit: Emit) -> None:
    for one in all_left:
        emit(Broke(one, sentence))

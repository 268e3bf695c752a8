"""Decode the missing samples of a comparison prompt by prompt, and report each when it is finished."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing

from decoding.errors import DrafthouseError
from decoding.measure.comparison import Comparison, Key
from decoding.measure.summary import Sample
from worker.comparison_messages import Audited, Began, Broke, Decoded, ToCompare
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.tracing import Tracing, which
from worker.messages import Cancelled, Say

LAST_LINES = 6


def compare(order: ToCompare, residents: Residents, say: Say, cancelled: Cancelled) -> None:
    pair, loaded = load_pair(order.pair, residents, order.choices)
    say(loaded)
    with closing(pair), Tracing(say, pair.tokenizer.decode) as tracing:
        pair.begin(order.choices)
        comparison = Comparison(
            pair,
            order.prompts,
            order.choices,
            order.sampling,
            order.repeats,
            sink_for=tracing.sink_for,
            cancelled=cancelled,
        )
        comparison.warm_up()
        before = {(sample.strategy, sample.prompt, sample.repeat): sample for sample in order.finished}
        for group in comparison.schedule():
            prompt, repeat = group[0].prompt, group[0].repeat
            if (prompt.id, repeat) in order.settled:
                continue
            samples = [before[which(key)] for key in group if which(key) in before]
            left = [key for key in group if which(key) not in before and which(key) not in order.given_up]
            samples += decode_all(comparison, left, tracing, say)
            if cancelled():
                return
            say(Audited([sample for sample in comparison.audited(prompt, samples) if sample.audit]))


def decode_all(comparison: Comparison, keys: Sequence[Key], tracing: Tracing, say: Say) -> Iterator[Sample]:
    """Decode these samples. One that breaks is reported, and the rest go on."""
    for key in keys:
        if comparison.cancelled():
            return
        say(Began(which(key)))
        try:
            sample = comparison.sample(key)
        except DrafthouseError as error:
            say(Broke(which(key), str(error)))
        except Exception as error:
            traceback.print_exc()
            last = "\n".join(traceback.format_exc().splitlines()[-LAST_LINES:])
            say(Broke(which(key), f"The engine met an error of its own, {type(error).__name__}. It said last:\n{last}"))
        else:
            if sample.reason == "cancelled":
                return
            say(Decoded(sample, tracing.flush()))
            yield sample

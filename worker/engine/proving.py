"""Carry out a proof in the engine process."""

from __future__ import annotations

from contextlib import closing

from worker.cache import FileCache
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Emit, Found, PairOrder
from worker.proving import Promise, prove, samples_of

PROVING = "proving"


def proof(
    order: PairOrder, promise: Promise, cache: FileCache, residents: Residents, emit: Emit, cancelled: Cancelled
) -> None:
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    due = samples_of(len(order.prompts))
    steps = Steps(emit, {PROVING: due})
    with closing(pair):
        try:
            found = prove(
                pair,
                order.prompts,
                order.sampling,
                promise,
                cache,
                on_progress=lambda done: steps(PROVING, done, due),
                cancelled=cancelled,
            )
        except KeyboardInterrupt:  # cancelled while it wrote files or waited for a server
            return
    if found:
        emit(Found({**found, "hardware": loaded.hardware}))

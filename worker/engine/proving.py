"""Carry out a proof in the engine process."""

from __future__ import annotations

from contextlib import closing

from decoding.replay import workload
from worker.cache import Cache
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Emit, Found, PairOrder
from worker.proving import PROVING, STEPS, Promise, prove


def proof(
    order: PairOrder, promise: Promise, cache: Cache, residents: Residents, emit: Emit, cancelled: Cancelled
) -> None:
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    due = workload.of_proof(workload.Recipe(len(order.prompts), order.sampling))
    steps = Steps(emit, {**dict.fromkeys(STEPS, 0), PROVING: due})
    with closing(pair):
        try:
            found = prove(
                pair,
                order.prompts,
                order.sampling,
                promise,
                cache,
                on_step=steps,
                cancelled=cancelled,
            )
        except KeyboardInterrupt:  # cancelled while it wrote files or waited for a server
            return
    if found:
        emit(Found({**found, "hardware": loaded.hardware}))

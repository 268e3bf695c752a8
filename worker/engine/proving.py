"""Carry out a proof in the engine process."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from worker.cache import Cache
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Found, Say
from worker.proving import Promise, prove, samples_of

if TYPE_CHECKING:
    from worker.jobs.proof import Prove

PROVING = "proving"


def proof(order: Prove, residents: Residents, say: Say, cancelled: Cancelled) -> None:
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)
    due = samples_of(len(order.prompts))
    steps = Steps(say, {PROVING: due})
    with closing(pair):
        try:
            found = prove(
                pair,
                order.prompts,
                order.sampling,
                Promise(order.choice, order.speedup),
                Cache(order.gguf, order.gguf_bytes),
                on_progress=lambda done: steps(PROVING, done, due),
                cancelled=cancelled,
            )
        except KeyboardInterrupt:  # cancelled while it wrote files or waited for a server
            return
    if found:
        say(Found({**found, "hardware": loaded.hardware}))

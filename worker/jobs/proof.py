"""Prove a plan: run its setting on llama-server, with and without speculation, beside our engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.spec import Choice, choose
from webapp.studies.kinds import PROOF
from worker.cache import FileCache
from worker.messages import Cancelled, Emit, PairOrder

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PROOF


@dataclass(frozen=True, slots=True)
class Prove(PairOrder):
    choice: Choice
    speedup: float  # as promised
    gguf: Path  # folder of the files that proofs wrote
    gguf_bytes: int  # that they may take there

    def memory(self) -> int:
        return self.memory_to_run([self.choice])

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.proving import proof
        from worker.proving import Promise

        promise, cache = Promise(self.choice, self.speedup), FileCache(self.gguf, self.gguf_bytes)
        proof(self, promise, cache, residents, emit, cancelled)


def work(attempt: Attempt) -> None:
    from django.conf import settings

    from worker import llama_server, studies

    llama_server.program()  # refused before models are fetched if this machine has none
    study = studies.study_of(attempt)
    promise = attempt.job.arguments
    choice = choose(promise["strategy"], promise["params"])
    kept = Path(settings.DATA_DIR) / "gguf", settings.MODEL_CACHE_BYTES
    studies.run(attempt, Prove(*studies.shared_fields(attempt, study), choice, promise["speedup"], *kept))

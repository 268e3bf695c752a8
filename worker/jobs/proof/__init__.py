"""Prove a plan: run its setting on llama-server, with and without speculation, beside our engine."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.choice import Choice, choose
from decoding.replay import workload
from webapp.studies.kinds import PROOF
from worker.cache import FileCache
from worker.messages import Cancelled, Emit, Found, PairOrder

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
        from worker.engine.pairs import load_pair
        from worker.engine.steps import PhaseProgress
        from worker.jobs.proof.proving import PROVING, STEPS, Promise, prove

        pair, loaded = load_pair(self.pair, residents)
        emit(loaded)
        due = workload.of_proof(workload.StudyRecipe(len(self.prompts), self.sampling))
        steps = PhaseProgress(emit, {**dict.fromkeys(STEPS, 0), PROVING: due})
        with closing(pair), suppress(KeyboardInterrupt):  # cancelled while it wrote files or waited for a server
            found = prove(
                pair,
                self.prompts,
                self.sampling,
                Promise(self.choice, self.speedup),
                FileCache(self.gguf, self.gguf_bytes),
                on_step=steps,
                cancelled=cancelled,
            )
            if found:
                emit(Found({**found, "hardware": loaded.hardware}))


def work(attempt: Attempt) -> None:
    from django.conf import settings

    from worker import studies
    from worker.jobs.proof import llama_server

    llama_server.program()  # refused before models are fetched if this machine has none
    study = studies.study_of(attempt)
    promise = attempt.job.arguments
    choice = choose(promise["strategy"], promise["params"])
    kept = Path(settings.DATA_DIR) / "gguf", settings.MODEL_CACHE_BYTES
    studies.run(attempt, Prove(*studies.shared_fields(attempt, study), choice, promise["speedup"], *kept))

"""Bring a model here, from chunks or a folder, and tell whether it can be run. The engine loads its tokenizer and
judges its files; the weights stay where they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.errors import DrafthouseError
from decoding.models.folder import inspect
from webapp.registry.kinds import CHECK_MODEL
from worker.disk import NotNow
from worker.engine_process import EngineDied
from worker.messages import Cancelled, Emit, JobProgress, Order, Reply

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = CHECK_MODEL
SENTENCE = "Drafthouse reads this sentence back."


@dataclass(frozen=True, slots=True)
class CheckModel(Order):
    folder: Path

    opens_within_s = 120.0
    judges_models = True

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from decoding.models.checkpoints import check_family, tokenizer_of

        emit(JobProgress("reading its files", 0, 1))
        facts = inspect(self.folder)
        facts.check_format()
        check_family(facts)
        emit(JobProgress("loading its tokenizer", 0, 1))
        tokenizer = tokenizer_of(facts)
        emit(
            Checked(
                {
                    "runner": facts.runner,
                    "model_type": facts.family,
                    "vocab_size": facts.vocab_size,
                    "context_length": facts.context,
                    "parameter_count": facts.parameters,
                    "weight_bytes": facts.weight_bytes,
                    "dtypes": [facts.dtype],
                    "reads_back": tokenizer.decode(tokenizer.encode(SENTENCE)) == SENTENCE,
                    "end_tokens": sorted(facts.end_tokens),
                    **({"gguf": str(facts.origin)} if facts.origin else {}),
                }
            )
        )


@dataclass(frozen=True, slots=True)
class Checked(Reply):
    facts: dict[str, object]


def work(attempt: Attempt) -> None:
    """Mark the model ready or refused. After trouble that is not the model's fault it stays unchecked, with the reason:
    another attempt may do better."""
    from webapp.registry import services as registry
    from webapp.registry.models import LanguageModel, Readiness
    from worker.materials import NotHere

    model = attempt.insist(lambda: LanguageModel.objects.select_related("upload").get(job=attempt.job))
    try:
        facts = attempt.answer(CheckModel(attempt.folder_of(model)), Checked).facts
    except DrafthouseError as refusal:
        sentence = str(refusal)
        attempt.insist(lambda: registry.model_was_checked(model=model, state=Readiness.REFUSED, reason=sentence))
        raise
    except (NotHere, NotNow, EngineDied) as trouble:
        sentence = str(trouble)
        attempt.insist(lambda: registry.model_was_checked(model=model, state=model.state, reason=sentence))
        raise
    attempt.insist(lambda: registry.model_was_checked(model=model, state=Readiness.READY, facts=facts))

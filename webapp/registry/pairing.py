"""Check whether two models fit together, and say so when a pair is made, not after an hour in the queue."""

from __future__ import annotations

import tempfile
from pathlib import Path

from decoding.public import BadCheckpoint, BadPair, PairFinding, check_pair
from webapp.core.hub import HubModel
from webapp.core.problems import Invalid
from webapp.registry import checkpoints
from webapp.registry.models import LanguageModel, Readiness

Finding = dict[str, str]  # level: fits | remark; topic; sentence; method, if the tokenizers differ


def findings(target: LanguageModel | HubModel, draft: LanguageModel | HubModel | None) -> list[Finding]:
    """Return remarks on two models as a pair, or on a target alone. Raise Invalid if they cannot be one. Nobody has
    looked yet at models that are only ids of the hub. This may take seconds: do it outside transactions."""
    given = {"target": target, "draft": draft} if draft else {"target": target}
    models = {role: model for role, model in given.items() if isinstance(model, LanguageModel)}
    for role, model in models.items():
        if model.state == Readiness.REFUSED:
            raise Invalid(f"{model.name} was refused: {model.reason}", field=role, hint="Choose another model.")
    uploads = [model.upload for model in models.values() if model.upload]
    if len(uploads) < len(given) or any(checkpoints.gguf_of(upload.files.all()) for upload in uploads):
        sentence = "Only a worker can open these models. It checks before the first run whether they fit."
        return [{"level": "remark", "topic": "models", "sentence": sentence}]
    with tempfile.TemporaryDirectory(prefix="drafthouse-pair-") as folder:
        return _judge(
            *(checkpoints.sketch(model.upload, Path(folder) / role) for role, model in models.items() if model.upload)
        )


def _judge(target: Path, draft: Path | None = None) -> list[Finding]:
    try:
        report = check_pair(target, draft)
        report.require()
    except (BadCheckpoint, BadPair) as error:
        sentence = str(error).replace(f"{target.parent}/", "")
        raise Invalid(sentence, field="draft" if draft else "target", code=error.code) from None
    return [
        {"level": found.level, "topic": found.topic, "sentence": found.sentence, **_method(found)}
        for found in report.findings
    ]


def _method(found: PairFinding) -> dict[str, str]:
    """Return how the draft drafts by default, if the finding is about tokenizers that differ."""
    return {"method": found.shared.usual_method} if found.shared else {}

"""Do two models fit together? Said in words the moment a pair is made, not after an hour in the queue."""

from __future__ import annotations

from typing import Any

from webapp.core.problems import Invalid
from webapp.registry.models import LanguageModel, Readiness

MOST_PADDING = 0.02  # vocabularies that differ by more than this differ in words, not in padding


def findings(target: LanguageModel, draft: LanguageModel) -> list[dict[str, str]]:
    """Sentences, each `ok` or `mind`. What makes the pair impossible raises Invalid."""
    for role, model in (("target", target), ("draft", draft)):
        if model.state == Readiness.REFUSED:
            raise Invalid(f"{model.name} was refused: {model.reason}", field=role, hint="Choose another model.")
    if not target.facts or not draft.facts:
        return [_mind("The models are still being checked; whether they fit is told when a worker has looked.")]
    return [_vocabulary(target, draft), _tokenizer(target, draft), _size(target, draft), _context(target, draft)]


def _vocabulary(target: LanguageModel, draft: LanguageModel) -> dict[str, str]:
    wide, narrow = (target.fact("vocab_size"), draft.fact("vocab_size"))
    if wide == narrow:
        return _ok(f"Both have a vocabulary of {wide:,} tokens.")
    shared = min(wide, narrow)
    if abs(wide - narrow) <= MOST_PADDING * shared:
        return _mind(f"The vocabularies have {wide:,} and {narrow:,} tokens; the shared {shared:,} are used.")
    raise Invalid(
        f"The target has {wide:,} tokens and the draft {narrow:,}; these are different vocabularies.",
        field="draft",
        code="bad-pair",
        hint="Choose a draft of the target's own family, with the same tokenizer.",
    )


def _tokenizer(target: LanguageModel, draft: LanguageModel) -> dict[str, str]:
    if target.fact("tokenizer_sha256") == draft.fact("tokenizer_sha256"):
        return _ok("Both have the same tokenizer file.")
    return _mind("The tokenizer files differ; the worker compares their vocabularies before the first run.")


def _size(target: LanguageModel, draft: LanguageModel) -> dict[str, str]:
    large, small = target.fact("parameter_count"), draft.fact("parameter_count")
    if small >= large:
        return _mind(
            f"The draft is no smaller than the target ({small:,} and {large:,} parameters); expect no speed-up."
        )
    return _ok(f"The draft has {small:,} parameters, 1/{large / small:.3g} of the target's {large:,}.")


def _context(target: LanguageModel, draft: LanguageModel) -> dict[str, str]:
    shared = min(target.fact("context_length"), draft.fact("context_length"))
    return _ok(f"Prompt and answer together may have {shared:,} tokens.")


def _ok(sentence: str) -> dict[str, str]:
    return {"level": "ok", "sentence": sentence}


def _mind(sentence: str) -> dict[str, Any]:
    return {"level": "mind", "sentence": sentence}

"""Bridge: how a target uses a draft that has another tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.drafting.source import Words
from decoding.models.runner import ModelRunner
from decoding.vocabularies.shared import Method, SharedTokens
from decoding.vocabularies.spelling import Coder
from decoding.vocabularies.translated import TranslatedModel, TranslatedRunner, Translation

if TYPE_CHECKING:  # it loads the tokenizers library
    from decoding.models.checkpoints import ModelTokens


@dataclass(frozen=True)
class Bridge:
    """All that is known about a target and a draft whose tokenizers differ."""

    method: Method
    target: Coder
    draft: Coder
    shared: SharedTokens
    target_ends: frozenset[int]
    draft_ends: frozenset[int]
    outputs: int  # the target's number of logits
    words: Words  # the draft's decode

    @cached_property
    def translation(self) -> Translation:
        return Translation(self.shared, self.draft, self.outputs)

    def over(self, draft: ModelRunner) -> TranslatedRunner:
        """Return the draft as one that reads and says the target's tokens."""
        return TranslatedRunner(draft, TranslatedModel(draft.model, self.translation))

    @property
    def matches_text(self) -> bool:
        return self.method == "slem"


def bridge_of(shared: SharedTokens, method: str, target: ModelTokens, draft: ModelTokens, outputs: int) -> Bridge:
    """`method` is one of METHODS; `outputs` is the target's number of logits."""
    return Bridge(
        shared.method(method),
        Coder(shared.target, target.tokenizer.encode),
        Coder(shared.draft, draft.tokenizer.encode),
        shared,
        target.end_tokens,
        draft.end_tokens,
        outputs,
        draft.tokenizer.decode,
    )


def translated(load: Callable[[], ModelRunner], target: Path, draft: Path) -> ModelRunner:
    """Load a draft for a target with another tokenizer, in another process."""
    from decoding.models.checkpoints import tokens_of  # loads the tokenizers library, which nothing else here needs
    from decoding.vocabularies.fit import check_pair

    report = check_pair(target, draft)
    assert report.shared, "the tokenizers do not differ"
    bridge = bridge_of(report.shared, "tli", tokens_of(target), tokens_of(draft), report.target.vocab_size)
    return bridge.over(load())

"""Count a prompt set's tokens with a pair's tokenizer, some hundred prompts at a time."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.models.folder import inspect
from decoding.prompts.chat.renderer import Renderer
from decoding.prompts.prompt import PromptItem
from webapp.registry.kinds import COUNT_TOKENS
from worker.messages import Cancelled, Emit, Order, Reply

if TYPE_CHECKING:
    from decoding.models.checkpoints import LoadedTokenizer
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = COUNT_TOKENS
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class CountTokens(Order):
    target: Path
    draft: Path | None
    prompts: Sequence[PromptItem]

    opens_within_s = 300.0  # for AT_ONCE prompts

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        tokenizer = _tokenizer(self.target)
        contexts = (inspect(self.target).context, inspect(self.draft).context if self.draft else None)
        with closing(Renderer(self.target)) as renderer:
            texts = [text_of(prompt, renderer) for prompt in self.prompts]
        emit(TokensCounted(tuple(len(tokenizer.encode(text)) for text in texts), contexts))


@dataclass(frozen=True, slots=True)
class TokensCounted(Reply):
    lengths: Sequence[int]
    contexts: tuple[int | None, int | None]  # what target and draft can hold, where they say so


def text_of(prompt: PromptItem, renderer: Renderer) -> str:
    """Return the prompt as the target reads it; of a later turn, without the turns and answers before it."""
    return renderer.render(prompt.chat.messages, prompt.chat.tools) if prompt.chat else prompt.text


def work(attempt: Attempt) -> None:
    from webapp.registry import lengths
    from webapp.registry.models import TokenLengths
    from webapp.registry.prompt_sets import prompt_of

    chosen = TokenLengths.objects.select_related("dataset", "pair__target__upload", "pair__draft__upload")
    wanted = attempt.insist(lambda: chosen.filter(job=attempt.job).first())
    if wanted is None:
        return  # the set is gone
    local = attempt.local_pair(wanted.pair)
    prompts = attempt.insist(lambda: [prompt_of(row) for row in wanted.dataset.prompts.order_by("number")])
    found: list[int] = []
    for start in range(0, len(prompts), AT_ONCE):
        order = CountTokens(local.target, local.draft, prompts[start : start + AT_ONCE])
        counted = attempt.answer(order, TokensCounted)
        found += counted.lengths
        attempt.progress(len(found), len(prompts))
    attempt.insist(lambda: lengths.counted(job=attempt.job, lengths=found, contexts=counted.contexts))


@functools.lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> LoadedTokenizer:
    """Load it once: the prompts of a set come in several orders."""
    from decoding.models.checkpoints import tokenizer_of

    return tokenizer_of(inspect(folder))

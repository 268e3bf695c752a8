"""Backend: what a comparison runs on, a pair of models or servers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from decoding.backends.contestants.base import Contestant
    from decoding.choice import Choice
    from decoding.models.runner import ModelRunner
    from decoding.models.tokenizer_files import Tokenizer
    from decoding.prompts.chat.renderer import Renderer


class Backend(Protocol):
    @property
    def target(self) -> ModelRunner | None:
        """The target, which audits need; None if servers run alone."""
        ...

    @property
    def tokenizer(self) -> Tokenizer | None: ...
    @property
    def renderer(self) -> Renderer | None:
        """Renderer of chats by the target's template; None if servers run alone."""
        ...

    @property
    def end_tokens(self) -> frozenset[int]: ...
    @property
    def vocab(self) -> int: ...
    @property
    def dtype(self) -> torch.dtype: ...
    def contestant(self, choice: Choice) -> Contestant: ...

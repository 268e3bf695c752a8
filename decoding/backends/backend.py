"""Backend: what a comparison runs on, a pair of models or servers alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from decoding.backends.contestants.base import Contestant
    from decoding.choice import Choice
    from decoding.dice.sampling import Sampling
    from decoding.models.runner import ModelRunner
    from decoding.models.tokenizer_files import Tokenizer
    from decoding.prompts.chat.renderer import Renderer
    from decoding.ssd.transport.draft_process import DraftProcess


class Backend(ABC):
    target: ModelRunner | None  # which audits need; None if servers run alone
    tokenizer: Tokenizer | None
    renderer: Renderer | None  # of chats by the target's template; None if servers run alone
    end_tokens: frozenset[int]
    dtype: torch.dtype

    @property
    @abstractmethod
    def vocab(self) -> int: ...

    @abstractmethod
    def contestant(self, choice: Choice) -> Contestant:
        """Return who runs the choice. Refuse a choice that cannot run here."""

    @abstractmethod
    def close(self) -> None:
        """End what `begin` started."""

    def runner_of(self, choice: Choice) -> str:
        """Name the software that runs the models under the choice."""
        return self.contestant(choice).runner(choice)

    def hardware_of(self, choice: Choice, longest: int = 0) -> str:
        """Describe what the choice has to itself, for people. `longest` is the longest text's number of tokens."""
        contestant = self.contestant(choice)
        return "; ".join(filter(None, (contestant.hardware(choice), contestant.waiting(choice, longest))))

    def begin(self, choices: Sequence[Choice]) -> None:
        """Start what the choices need besides the models. Refuse, in a sentence, what this machine cannot run."""
        found = [self.contestant(choice) for choice in choices]
        for one in dict.fromkeys(found):
            one.begin([choice for choice, other in zip(choices, found, strict=True) if other is one])

    def misfits(self, choices: Sequence[Choice], sampling: Sampling) -> list[str]:
        """Warn of each strategy whose classifier was trained for another sampling, or on another machine."""
        return []

    def process_of(self, choice: Choice) -> DraftProcess | None:
        """The draft's own process, if the choice has the draft beside the target."""
        return None

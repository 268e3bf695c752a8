"""Servers alone: a comparison without a model on this machine. Prompts go as text, and no target audits the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from decoding.backends.contestants.servers import SERVER
from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.contestants.servers.running import Servers
from decoding.choice import Choice
from decoding.dice.sampling import Sampling
from decoding.errors import BadStrategy


@dataclass
class ServersOnly:
    """A backend for comparisons, as a Pair is."""

    servers: Reach
    target: None = None
    tokenizer: None = None
    renderer: None = None
    end_tokens: frozenset[int] = field(default_factory=frozenset)
    vocab: int = 0
    dtype: torch.dtype = torch.float32

    @cached_property
    def _contestant(self) -> Servers:
        return Servers(self.servers, None)

    def contestant(self, choice: Choice) -> Servers:
        if choice.strategy != SERVER.slug:
            raise BadStrategy(f"{choice.label} needs a target on this machine, and there is none. Give --target MODEL.")
        return self._contestant

    def runner_of(self, choice: Choice) -> str:
        return self.contestant(choice).runner(choice)

    def hardware_of(self, choice: Choice, longest: int = 0) -> str:
        return self.contestant(choice).hardware(choice)

    def begin(self, choices: Sequence[Choice]) -> None:
        for choice in choices:
            self.contestant(choice)
        self._contestant.begin(choices)

    def misfits(self, choices: Sequence[Choice], sampling: Sampling) -> list[str]:
        """No classifier takes part."""
        return []

    def process_of(self, choice: Choice) -> None:
        """No draft runs here."""

    def close(self) -> None:
        self._contestant.close()

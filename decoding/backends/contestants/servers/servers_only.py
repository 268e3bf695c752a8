"""Servers alone: a comparison without a model on this machine. Prompts go as text, and no target audits the answers."""

from __future__ import annotations

import torch

from decoding.backends.backend import Backend
from decoding.backends.contestants.servers import SERVER
from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.contestants.servers.running import Servers
from decoding.choice import Choice
from decoding.errors import BadStrategy


class ServersOnly(Backend):
    target = tokenizer = renderer = None
    end_tokens: frozenset[int] = frozenset()
    vocab = 0
    dtype = torch.float32

    def __init__(self, servers: Reach) -> None:
        self._contestant = Servers(servers, None)

    def contestant(self, choice: Choice) -> Servers:
        if choice.strategy != SERVER.slug:
            raise BadStrategy(f"{choice.label} needs a target on this machine, and there is none. Give --target MODEL.")
        return self._contestant

    def close(self) -> None:
        self._contestant.close()

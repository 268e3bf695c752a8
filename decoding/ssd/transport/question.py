"""A question to the draft's side as a step of a text's drafting: the loop joins the questions of a batch as it joins
passes of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from decoding.models.runner import Feed
from decoding.ssd.transport.messages import Asked
from decoding.verify import Verdict

NO_LOGITS = torch.empty(0)  # a question has none: its reader keeps the answer


class Answering(Protocol):
    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]: ...


class Questioner:
    """One text's share of an exchange, and the reader of its steps."""

    model: Answering
    asked: Asked

    def __init__(self, number: int) -> None:
        self.number = number

    def ask(self, verdict: Verdict | None, limit: int) -> Feed:
        accepted, token = (verdict.accepted, verdict.token) if verdict else (None, 0)
        self.asked = Asked(self.number, accepted, token, limit)
        return self, (), 0

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 0) -> Tensor:
        [logits] = self.model.extend_all([(self, tokens, need)])
        return logits

"""How tokens are sampled, as data. Standard library only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from decoding.errors import BadSampling


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen from logits, and when a text ends. The same for every strategy of a comparison."""

    temperature: float = 0.0
    top_k: int = 0  # 0: no limit
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    dice: Literal["ratio", "shared"] = "shared"
    seed: int = 0
    max_new_tokens: int = 128
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _within("temperature", self.temperature, 0.0, 10.0)
        _within("top_k", self.top_k, 0, 1_000_000)
        _within("top_p", self.top_p, 1e-6, 1.0)
        _within("repetition_penalty", self.repetition_penalty, 0.1, 10.0)
        _within("seed", self.seed, 0, 2**63 - 1)
        _within("max_new_tokens", self.max_new_tokens, 1, 1_000_000)
        if self.dice not in ("ratio", "shared"):
            raise BadSampling(f"dice is {self.dice!r}; it can be ratio or shared.")
        if any(not text for text in self.stop):
            raise BadSampling("A stop string is empty, so it would end every text at once; leave it out.")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def truncates(self) -> bool:
        """Whether some tokens can never be chosen because others are likelier."""
        return self.top_k > 0 or self.top_p < 1.0

    @property
    def fixes_the_text(self) -> bool:
        """Whether all strategies must produce the very same tokens, so that texts can be compared."""
        return self.is_greedy or self.dice == "shared"

    def for_transformers(self) -> dict[str, Any]:
        """Return these settings in the words of transformers' GenerationConfig."""
        chance = {} if self.is_greedy else {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        length = {"repetition_penalty": self.repetition_penalty, "max_new_tokens": self.max_new_tokens}
        return {"do_sample": not self.is_greedy, **chance, **length}

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "stop": list(self.stop)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Sampling:
        """Read settings from JSON, with defaults for missing ones."""
        return cls(**{**given, "stop": tuple(given.get("stop", ()))})


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN fails too
        bounds = " and ".join(f"{bound:,}" if isinstance(bound, int) else f"{bound:g}" for bound in (low, high))
        raise BadSampling(f"{name} is {value}; it must lie between {bounds}.")

"""Prompts of a training by purpose: no text serves two. Standard library only."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.errors import BadPrompts
from decoding.prompts.prompt import PromptItem, in_turn

SPLITS = ("train", "validation", "test")
DEAL = (0, 2, 0, 1, 0, 0, 2, 0, 1, 0)  # numbers of splits: 6 : 2 : 2, well mixed
SHINGLE = 8  # words
ALIKE = 0.5  # of a prompt's shingles stand in the training prompts: nearly the same text


@dataclass(frozen=True)
class Splits:
    """Prompts by purpose."""

    training: Sequence[PromptItem]
    validation: Sequence[PromptItem]  # stops the training, calibrates, tunes the thresholds
    test: Sequence[PromptItem]  # measured only
    left_out: int = 0  # prompts whose text stands in a later split too

    @classmethod
    def of(cls, prompts: Sequence[PromptItem]) -> Splits:
        """Split prompts by their `split`; if no prompt has one, deal them out 6 : 2 : 2. A text that is in several
        splits stays in the last of them alone, so that no classifier is tested on what it learnt."""
        splits = {name: [p for p in prompts if p.split == name] for name in SPLITS}
        if not any(splits.values()):
            splits = dealt(prompts)
        kept, seen = dict[str, list[PromptItem]](), set[str]()
        for name in reversed(SPLITS):
            kept[name] = [prompt for prompt in splits[name] if prompt.content not in seen]
            seen |= {prompt.content for prompt in splits[name]}
        for name in SPLITS:
            if not kept[name]:
                why = "only prompts that are in a later split too" if splits[name] else "no prompt"
                raise BadPrompts(f"The {name} split holds {why}; a classifier needs train, validation and test.")
        left_out = sum(len(splits[name]) - len(kept[name]) for name in SPLITS)
        return cls(kept["train"], kept["validation"], kept["test"], left_out)

    def shared(self) -> dict[str, int]:
        """How far the splits share texts: prompts left out as equal, and prompts nearly equal to training prompts."""
        learnt = {shingle for prompt in self.training for shingle in shingles(prompt)}
        alike = {name: sum(_is_alike(prompt, learnt) for prompt in getattr(self, name)) for name in SPLITS[1:]}
        return {"left_out": self.left_out, **alike}


def dealt(prompts: Sequence[PromptItem]) -> dict[str, list[PromptItem]]:
    """Deal out prompts by a hash of their text, category by category. Equal texts stay together, and so do the turns of
    a conversation."""
    by_category: dict[str, dict[str, list[PromptItem]]] = {}
    first: dict[str, PromptItem] = {}
    for prompt in in_turn(prompts):
        first[prompt.id] = start = first.get(prompt.follows, prompt)
        by_category.setdefault(start.category, {}).setdefault(start.content, []).append(prompt)
    splits: dict[str, list[PromptItem]] = {name: [] for name in SPLITS}
    turns = itertools.cycle(DEAL)
    for _, by_text in sorted(by_category.items()):
        for text in sorted(by_text, key=_hash):
            splits[SPLITS[next(turns)]] += by_text[text]
    return splits


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def shingles(prompt: PromptItem) -> set[tuple[str, ...]]:
    """Every eight words of a text that follow each other; of a shorter text, all of its words."""
    words = prompt.content.split()
    return {tuple(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1))}


def _is_alike(prompt: PromptItem, learnt: Iterable[tuple[str, ...]]) -> bool:
    own = shingles(prompt)
    return len(own.intersection(learnt)) > ALIKE * len(own)

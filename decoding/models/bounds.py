"""Refusals that all runners share, with one wording."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.errors import BadPrompt


def check_extend(length: int, new: int, need: int, context: int) -> None:
    if not 1 <= need <= new:
        raise ValueError(f"logits after {need} tokens were asked for, and {new} tokens were given")
    if length + new > context:
        raise BadPrompt(
            f"The text would be {length + new} tokens long and the model holds {context}. "
            "Shorten the prompt or ask for fewer new tokens."
        )


def check_ids(ids: Sequence[int], vocab_size: int) -> None:
    worst = next((extreme for extreme in (min(ids), max(ids)) if not 0 <= extreme < vocab_size), None)
    if worst is not None:
        raise BadPrompt(
            f"Token {worst} is not in the model's vocabulary of {vocab_size}. "
            "The text was cut into tokens by another model's tokenizer."
        )


def check_rewind(length: int, to: int) -> None:
    if not 0 <= to <= length:
        raise ValueError(f"cannot rewind {length} tokens to {to}")


def check_open(is_open: bool) -> None:
    if not is_open:
        raise RuntimeError("this tree is closed: its runner has moved on")


def check_tree(is_open: bool, depths: Sequence[int], new: int, context: int) -> None:
    """Check new tokens of a tree. `depths` are how many tokens lie before each."""
    check_open(is_open)
    if new != len(depths) or not new:
        raise ValueError(f"{new} tokens with {len(depths)} parents")
    if min(depths) < 0:
        raise ValueError("a parent lies before the text")
    if max(depths) >= context:
        raise BadPrompt(f"A path would be longer than the model holds, which is {context} tokens.")

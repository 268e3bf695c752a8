"""The starter pair under strategies whose choices no processor's rounding turns: texts and drafts, nothing finer.

In float32 its logits differ by about 1e-5 from one processor to the next, and the best two of the recorded texts lie at
least 0.003 apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from decoding.choice import Choice, parse_choices
from decoding.dice.sampling import Sampling
from decoding.models.checkpoints import LoadedModel, load
from decoding.prompts.prompt import read_prompts
from tests.golden.live import LOADS, MovedClock, Stage

STARTER = Path(__file__).parents[2] / "starter"
LABELS = (
    "autoregressive,static,heuristic,oracle:5,lookup,suffix,suffix:memory=true,tree:3/21/1,"
    "ssd:4,branches=12,backup=neural,placement=in-turn"
)
NEW = 24
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=0.8, dice="shared", max_new_tokens=NEW),
}
LENGTH, COUNT = 40, 5  # tokens of a prompt, and prompts


@cache
def part(name: str) -> LoadedModel:
    return load(STARTER / "pair" / name, dtype="float32", context=512)


@cache
def prompts() -> list[list[int]]:
    path = STARTER / "prompts" / "code.jsonl"
    found = read_prompts(path.read_text(encoding="utf-8"), path.name)
    encoded = (part("target").tokenizer.encode(prompt.text) for prompt in found if prompt.split == "test")
    return [tokens[:LENGTH] for tokens in encoded if len(tokens) >= 32][:COUNT]


def decoded(choice: Choice, sampling: Sampling, users: int) -> dict[str, Any]:
    models = (part(name).runner.model for name in ("target", "draft"))
    stage = Stage(choice, sampling, *models, MovedClock(), prompts())
    stage.run(users)
    return stage.decoded


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for choice, ((name, sampling), (at, users)) in itertools.product(
        parse_choices(LABELS), zip(SAMPLINGS.items(), LOADS.items(), strict=True)
    ):
        yield f"{choice.label}, starter pair, {name}, {at}", partial(decoded, choice, sampling, users)

"""Walks and rounds that every way of passing through a model has to agree on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.shape import Shape, shape_of
from decoding.models.runner import ModelRunner, rewind_to
from tests.kit.chains import Chains
from tests.kit.models import LLAMA

LONG = LLAMA | {"max_position_embeddings": 700}
TEXT = torch.randint(0, 97, (650,), generator=torch.Generator().manual_seed(2)).tolist()


def walk(runner: FastRunner) -> torch.Tensor:
    """Take prompt, rounds of several rows, branches and adoption, across a change of buckets."""
    got = [runner.extend(TEXT[:240], 3)]
    for start in (240, 248, 256, 496, 504, 512, 520):
        if start > len(runner.tokens):
            runner.extend(TEXT[len(runner.tokens) : start])
        got += [runner.extend(TEXT[start : start + 1]), runner.extend(TEXT[start + 1 : start + 8], 7)]
        runner.rewind(start + 5)
        branches = Chains(runner, [start + 5, start + 2])
        got += [branches.extend([1, 2]), branches.extend([3, 4])]
        branches.adopt(1)
        got.append(runner.extend(rewind_to(runner, TEXT[: start + 8])))
    return torch.cat(got)


def assert_near(got: torch.Tensor, want: torch.Tensor) -> None:
    """Compare as bfloat16 allows. NaN fails."""
    assert (got - want).abs().mean() <= 0.03 * want.abs().max()


ROUNDS = [((0, 1), (1, 5), (2, 2)), ((0, 3), (2, 1)), ((1, 1), (2, 4)), ((1, 2),), ((0, 20), (1, 2), (2, 2))]


def played(together: Sequence[ModelRunner], plain: FastModel) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Return logits of three texts in a slab, and of the same texts with caches of their own. One enters with a long
    prompt, one sits out, one is left alone, and one outgrows its place by branches."""
    texts, model = [TEXT[:20], TEXT[5:9], TEXT[:31]], together[0].model
    alone = [plain.new_runner() for _ in texts]
    for runners in (together, alone):
        for runner, text in zip(runners, texts, strict=True):
            runner.rewind(0)
            runner.extend(text)
    for number, feeds in enumerate(ROUNDS):
        if number == 2:
            for runners in (together, alone):
                outgrow(runners[0])
        tokens = {place: TEXT[number : number + count] for place, count in feeds}
        got = model.extend_all([(together[place], tokens[place], len(tokens[place])) for place, _ in feeds])
        for (place, count), logits in zip(feeds, got, strict=True):
            yield logits.cpu(), alone[place].extend(tokens[place], count)
    assert [runner.tokens for runner in together] == [runner.tokens for runner in alone]


def outgrow(runner: ModelRunner) -> None:
    """Grow a tree behind 20 tokens of a text that its cache has no room for."""
    branches = Chains(runner, [20] * 200)
    for _ in range(5):
        branches.extend([1] * 200)


def shape(**changed: int) -> Shape:
    """Shape of a small llama with some settings changed."""
    found = shape_of(LLAMA | {"model_type": "llama"} | changed)
    assert found
    return found

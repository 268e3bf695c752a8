"""Drafts in a process of their own, and texts decoded with one at a load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding.backends.contestants.base import Request
from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.core.ending import Decoded, Ending
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BrokenModel
from decoding.ssd.transport.draft_process import Cores
from decoding.trace.events import Recorder
from tests.kit.table import TableRunner
from tests.kit.worlds import state_of, tables

ANYWHERE = Cores(2)  # tests run where there is room


def table_draft(vocab: int, seed: int, **shape: float) -> TableRunner:
    """The draft of a world of tables, made in whatever process asks."""
    return TableRunner(tables(vocab, seed, **shape)[1], state_of=state_of)


SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=30),
    "shared": Sampling(temperature=0.8, dice="shared", max_new_tokens=30, repetition_penalty=1.1),
}
PROMPTS = [[5, 7, 3, number] for number in range(8)]
Found = dict[tuple[int, ...], tuple[Decoded | BrokenModel, Recorder]]


def run(
    pair: ModelPair,
    choice: Choice,
    sampling: Sampling,
    at: Load,
    sink: Callable[[], Recorder] = Recorder,
    prompts: Sequence[Sequence[int]] = PROMPTS,
) -> Found:
    """Decode prompts in one batch, and return each one's answer and events."""
    requests = [
        Request(choice.at(at), prompt, sampling, seed, Ending(frozenset())) for seed, prompt in enumerate(prompts)
    ]
    recorders: dict[int, Recorder] = {id(request): sink() for request in requests}

    answers = pair.contestant(choice).run(requests, lambda request: recorders[id(request)], never, at)
    return {tuple(request.prompt): (answer, recorders[id(request)]) for request, answer in answers}


def texts(found: Found) -> dict[tuple[int, ...], object]:
    """Tokens of each prompt, or its error."""
    return {
        prompt: answer.tokens if isinstance(answer, Decoded) else str(answer) for prompt, (answer, _) in found.items()
    }

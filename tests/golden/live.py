"""Every strategy of ours, decoded by the real loop in table worlds: alone, and four texts at a time.

Chance is keyed and a clock moves by the models' passes, so nothing depends on the machine. What still would is left
out: SSD whose branches or backup follow the real clock has only its tokens here.
"""

from __future__ import annotations

import itertools
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import torch

from decoding.choice import Choice, parse_choices
from decoding.core import sequence as loop
from decoding.core.batch_state import BatchState
from decoding.dice.sampling import Sampling
from decoding.models.runner import ModelRunner
from decoding.trace.events import Recorder, to_dict
from decoding.trace.timing import Clock
from tests.kit.table import StateOf, TableModel, TableRunner, last_token
from tests.kit.worlds import JOINT, World, decode_by, state_of, tables

VOCAB, NEW = 14, 32
IN_TURN = "placement=in-turn"
LABELS = (
    "autoregressive,static,static:1,static:7,heuristic,heuristic:2,threshold,threshold:0.2,cap=6,"
    "schedule,schedule:2:5/4:1,oracle,oracle:5,"
    "disco,disco:threshold,cap=7,budget,vllm-adaptive,vllm-adaptive:3,"
    "lookup,lookup:4,ngram=3,suffix,suffix:0.05,cap=6,suffix:memory=true,suffix:0.05,cap=6,memory=true,"
    "lookup:6,threshold=0.05,classifier=newest,lookup:20,ngram=3,threshold=0.3,classifier=newest,"
    "suffix:0.05,cap=6,classifier=newest,suffix:0.3,classifier=newest,"
    "hybrid,hybrid:newest,best-source,tree,tree:4x2,tree:3x4,tree:3/21/1,tree:rows=16,depth=6,"
    f"ssd:branches=12,backup=neural,{IN_TURN},ssd:4,branches=12,backup=neural,{IN_TURN},"
    f"ssd:3,branches=9,backup=ngram,fanout=uniform,{IN_TURN},"
    f"ssd:3,branches=8,backup=random,fanout=measured,{IN_TURN},ssd:4,branches=10,backup=copy,{IN_TURN},"
    f"ssd:2,fanout=3/2/1+6/0/0,backup=neural,{IN_TURN},"
    f"ssd:4,branches=10,backup=neural,constant=0.5,{IN_TURN},"
    f"ssd-disco:branches=12,{IN_TURN},ssd-disco:5,branches=6,{IN_TURN},ssd-disco:5,branches=6,backup=copy,{IN_TURN}"
)
BY_THE_CLOCK = f"ssd:{IN_TURN},ssd:branches=12,{IN_TURN},ssd-disco:{IN_TURN}"  # what they draft depends on real times
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=0.9, dice="shared", max_new_tokens=NEW, repetition_penalty=1.2),
    "ratio": Sampling(temperature=0.9, dice="ratio", max_new_tokens=NEW, top_k=9, top_p=0.95),
}
WORLDS: dict[str, tuple[StateOf, float]] = {"hashed": (state_of, 1.5), "looping": (last_token, 3.0)}  # and sharpness
LOADS = {"1 text": 1, "load 4": 4}
WHERE = (("hashed", "1 text"), ("looping", "load 4"))
PROMPTS = ((3, 1, 2), (5, 0), (7, 7, 4, 4), (2,), (3, 3))
ENDS = frozenset({5, 9})  # of every second text
FIELDS = {
    "started": ("prompt_tokens",),
    "drafted": (
        "round", "position", "lookahead", "tokens", "stop", "source", "passes", "backup", "rows", "ranks",
    ),
    "anticipated": ("round", "branches", "fanout", "passes", "pass_rows"),
    "verified": ("round", "accepted", "token", "outcome", "lost", "texts", "prompt_rows"),
    "finished": ("reason", "new_tokens"),
}  # fmt: skip
NUMBERS = ("confidence", "estimate", "predicted_hit")  # compared by their sums: processors round differently


class MovedClock(Clock):
    """Clock that only the models' passes move."""

    def __init__(self) -> None:
        super().__init__()
        self.ns = 0

    def now(self) -> int:
        return self.ns

    @contextmanager
    def stopped(self) -> Iterator[None]:
        before = self.ns
        yield
        self.ns = before


@dataclass(frozen=True)
class Model:
    """A table whose passes move a clock: `pass_ns` each, and 1 µs for each row whose logits are asked for."""

    table: torch.Tensor
    state_of: StateOf
    clock: MovedClock
    pass_ns: int

    @cached_property
    def _shared(self) -> TableModel:
        return TableModel(self.table)

    def new_runner(self) -> Noting:
        made = Noting(self)
        made.model = self._shared  # texts share passes
        return made


class Noting(TableRunner):
    """Runner that notes every text whose next token it was asked for, in order."""

    def __init__(self, made_of: Model) -> None:
        super().__init__(made_of.table, state_of=self._noted)
        self.asked: list[int] = []
        self._made_of = made_of

    def extend(self, tokens: Any, need: int = 1) -> torch.Tensor:
        self._made_of.clock.ns += self._made_of.pass_ns
        return super().extend(tokens, need)

    def _noted(self, text: Sequence[int]) -> int:
        self.asked.append(zlib.crc32(array("q", text).tobytes()))
        self._made_of.clock.ns += 1000
        return self._made_of.state_of(text)


class Models(Protocol):
    def new_runner(self) -> ModelRunner: ...


@dataclass
class Stage:
    """One run of a choice: the texts share what the texts of a comparison share."""

    choice: Choice
    sampling: Sampling
    target: Models
    draft: Models
    clock: MovedClock
    prompts: Sequence[Sequence[int]] = PROMPTS
    memory: dict[str, Any] = field(default_factory=dict)
    sequences: list[loop.Sequence] = field(default_factory=list)
    runners: list[tuple[ModelRunner, ModelRunner]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = BatchState(JOINT if self.choice.spec.usual_source.prices_rounds else None)

    def begin(self, number: int) -> loop.Sequence:
        self.runners.append((self.target.new_runner(), self.draft.new_runner()))
        world = World(*self.runners[-1], end_tokens=ENDS if number % 2 else frozenset())
        world.clock, world.memory = lambda: self.clock, self.memory
        made = world.sequence(self.choice, self.prompts[number], self.sampling, number, None, Recorder())
        self.sequences.append(made)
        return made

    def run(self, users: int) -> None:
        """Decode every prompt, so many at a time."""
        decode_by(users, map(self.begin, range(len(self.prompts))), self.state)

    @property
    def events(self) -> list[list[dict[str, Any]]]:
        sinks = (each.sink for each in self.sequences)
        return [[to_dict(event, 0) for event in sink.events] for sink in sinks if isinstance(sink, Recorder)]

    @property
    def decoded(self) -> dict[str, Any]:
        """Texts, and the drafted tokens and accepted counts of each round."""
        return {
            "tokens": [[each.decoded.tokens, each.decoded.reason] for each in self.sequences],
            "drafts": [
                [drafted(row) for row in rows if row["event"] in ("drafted", "verified")] for rows in self.events
            ],
        }


def live(choice: Choice, world: str, sampling: Sampling, users: int) -> dict[str, Any]:
    """Return what a choice did, kind by kind."""
    (state, sharpness), clock = WORLDS[world], MovedClock()
    target, draft = tables(VOCAB, seed=3, sharpness=sharpness, noise=0.7 * sharpness / 1.5)
    stage = Stage(choice, sampling, Model(target, state, clock, 20_000), Model(draft, state, clock, 2_000), clock)
    stage.run(users)
    rows = stage.events
    return {
        **stage.decoded,
        "events": [[[row["event"], *(row[name] for name in FIELDS[row["event"]])] for row in text] for text in rows],
        **{name: value for name in NUMBERS if (value := total(name, rows))},
        "passes": [[runner.asked for runner in each if isinstance(runner, Noting)] for each in stage.runners],
    }


def drafted(row: dict[str, Any]) -> Any:
    return row["accepted"] if row["event"] == "verified" else row["tokens"]


def total(name: str, texts: Sequence[Sequence[dict[str, Any]]]) -> float:
    values = (row[name] for text in texts for row in text if name in row)
    return float(sum(sum(value) if isinstance(value, tuple) else value for value in values))


def tokens_alone(choice: Choice, world: str, sampling: Sampling, users: int) -> dict[str, Any]:
    return {"tokens": live(choice, world, sampling, users)["tokens"]}


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for look, labels in ((live, LABELS), (tokens_alone, BY_THE_CLOCK)):
        settings = itertools.product(parse_choices(labels), WHERE, SAMPLINGS)
        for choice, (world, load), sampling in settings:
            if look is live or SAMPLINGS[sampling].fixes_the_text:
                name = f"{choice.label}, {world} world, {sampling}, {load}"
                yield name, lambda args=(choice, world, SAMPLINGS[sampling], LOADS[load]), look=look: look(*args)

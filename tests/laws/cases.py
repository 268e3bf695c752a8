"""Cases that Hypothesis draws: a strategy with parameters of its own, in a small world, under some dice, at some load.

Strategies come from `STRATEGIES` and values from their parameters, so that the next one is drawn without a line here. A
case is one line of JSON, from which it can be made again.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from decoding.backends.contestants import specs
from decoding.backends.registry import Parts
from decoding.choice import Choice, choose, parse_choices
from decoding.core.batch_state import BatchState
from decoding.core.ending import Ending
from decoding.core.sequence import Drafter
from decoding.core.sequence import Sequence as Text
from decoding.dice.sampling import Sampling
from decoding.drafting.params import Param, Value
from decoding.drafting.strategy import Strategy
from decoding.errors import BadStrategy
from decoding.ssd.transport.draft_process import DraftProcess
from decoding.ssd.transport.two_lanes import PLACEMENTS, Lane, Lanes
from decoding.strategies import STRATEGIES
from decoding.trace.events import Event, Recorder
from decoding.trace.timing import Clock
from tests.kit.table import last_token
from tests.kit.worlds import JOINT, World, decode_by
from tests.laws.tokenizers import LETTERS, OTHER_SMALL, OTHERS, SMALL, bridged

OURS = [slug for slug in STRATEGIES if slug not in {spec.slug for spec in specs()}]
BESIDE = "beside"  # a placement that needs another process
TIMED = ("auto",)  # values of parameters with which a clock decides
WIDEST = 12  # how far a number is drawn from the least that is allowed
# Texts of parameters that no planner, slider or default names.
TEXTS: dict[str, Callable[[Mapping[str, Any]], Sequence[str]]] = {
    "table": lambda params: ("1:1/2:2/64:4", "2:5/4:1/5:0", "1:0/64:3"),
    "shape": lambda params: ("1", "1x6", "3/21/1", "2/02/01"),
    "fanout": lambda params: (_listed(params["lookahead"]), _listed(params["lookahead"], afresh=True)),
}


def _listed(lookahead: int, afresh: bool = False) -> str:
    """A fan-out that is listed place by place, for rounds after a miss too."""
    counts = [1, *[0] * lookahead]
    counts[lookahead // 2] += 2
    counts[lookahead] += 1
    lists = [counts, counts[::-1]] if afresh else [counts]
    return "+".join("/".join(map(str, each)) for each in lists)


# ---- choices


@st.composite
def choices(draw: st.DrawFn, slug: str, most: int = WIDEST, is_timed: bool = True) -> Choice:
    spec, params = STRATEGIES[slug], dict[str, Any]()
    for param in spec.params:
        params[param.name] = draw(values(param, spec, params, most))
        if not is_timed and params[param.name] in TIMED and (param.word or param.kind == "choice"):
            params[param.name] = draw(st.integers(1, most) if param.kind == "int" else _untimed(param))
    for texts in ({}, {param.name: param.default for param in spec.params if param.kind == "text"}):
        with suppress(BadStrategy):  # parameters that do not fit one another
            return choose(slug, {**params, **texts})
    words = {param.name: param.word for param in spec.params if param.kind == "text" and param.word}
    return choose(slug, {**params, **words})


def _untimed(param: Param) -> st.SearchStrategy[str]:
    return st.sampled_from([name for name in param.choices if name not in (*TIMED, BESIDE)] or [param.default])


def values(param: Param, spec: Strategy, params: Mapping[str, Any], most: int = WIDEST) -> st.SearchStrategy[Any]:
    """Values of a parameter. Those that people use most are drawn most."""
    match param.kind:
        case "bool":
            return st.booleans()
        case "choice":
            return st.sampled_from([name for name in param.choices if name != BESIDE])
        case "int":
            low = int(param.low)
            numbers = st.integers(low, min(int(param.high), low + most - 1))
            return numbers | st.just(param.word) if param.word else numbers
        case "float":
            low, high = max(param.low, 0.0), min(param.high, 1.0)
            return st.integers(0, 20).map(lambda step: round(max(param.low, low + (high - low) * step / 20), 6))
    known = {param.default, *_planned(param.name, spec), *([param.word] if param.word else [])}
    own = TEXTS[param.name](params) if param.name in TEXTS else ()
    return st.sampled_from([*sorted(map(str, known)), *own])


def _planned(name: str, spec: Strategy) -> set[Value]:
    """Values that the planner tries, and that sliders offer."""
    offered = {option for slider in spec.sliders if slider.param == name for option in slider.options}
    return offered | {settings[name] for settings in spec.grid() if name in settings}


# ---- cases


@dataclass(frozen=True)
class Case:
    label: str
    dice: str = "greedy"
    temperature: float = 0.9
    penalty: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    new: int = 16  # most tokens of a text
    vocab: int = 12
    seed: int = 0  # of the tables, and of the dice
    noise: float = 0.8  # by which the draft differs from the target
    sharpness: float = 1.5
    loops: bool = False  # the last token alone says what follows
    tokenizer: str = "same"  # or how a draft with another one is used
    ends: tuple[int, ...] = ()
    stop: tuple[int, ...] = ()  # tokens that spell the stop string
    contexts: tuple[int, int] = (4096, 4096)  # of target and draft
    users: int = 1
    prompts: tuple[tuple[int, ...], ...] = ((3, 1),)

    @property
    def line(self) -> str:
        """Differences from the usual, as JSON."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        usual = dataclasses.asdict(Case(""))
        return json.dumps({name: value for name, value in fields.items() if value != usual[name]})

    @classmethod
    def of(cls, line: str) -> Case:
        return cls(**{name: _frozen(value) for name, value in json.loads(line).items()})

    def but(self, **changes: Any) -> Case:
        return dataclasses.replace(self, **changes)

    @property
    def choice(self) -> Choice:
        return parse_choices(self.label)[0]

    @property
    def sampling(self) -> Sampling:
        common = dict(repetition_penalty=self.penalty, max_new_tokens=self.new)
        if self.dice == "greedy":
            return Sampling(**common)  # type: ignore[arg-type]
        kept = dict(top_k=self.top_k, top_p=self.top_p)
        return Sampling(temperature=self.temperature, dice=self.dice, **kept, **common)  # type: ignore[arg-type]

    @property
    def names(self) -> Sequence[str]:
        """How each of the target's tokens is spelled."""
        if self.tokenizer == "same":
            return "abcdefghijklmnop"[: self.vocab]
        return [word.decode() for word in self._spellings[0].written.values()]

    @property
    def _spellings(self) -> Any:
        return (SMALL, OTHER_SMALL) if self.vocab < len(LETTERS.written) else (LETTERS, OTHERS)

    def spelled(self, tokens: Sequence[int]) -> str:
        return "".join(self.names[token] for token in tokens)

    @property
    def ending(self) -> Ending:
        stop = (self.spelled(self.stop),) if self.stop else ()
        return Ending(frozenset(self.ends), stop, self.spelled)

    def world(self) -> World:
        shape = {"noise": self.noise, "sharpness": self.sharpness}
        if self.tokenizer != "same":
            made = bridged(*self._spellings, self.tokenizer, self.seed, **shape)  # type: ignore[arg-type]
        else:
            made = World.of_tables(self.vocab, self.seed, **shape)
        runners = [made.target, getattr(made.draft, "inner", made.draft)]
        for runner, context in zip(runners, self.contexts, strict=True):
            runner.model = dataclasses.replace(runner.model, context=context)
            if self.loops and self.tokenizer == "same":
                runner.model = dataclasses.replace(runner.model, state_of=last_token)
        made.target = runners[0].model.new_runner()
        made.draft = (
            made.bridge.over(runners[1].model.new_runner())
            if self.tokenizer == "tli"
            else runners[1].model.new_runner()
        )  # type: ignore[union-attr]
        made.end_tokens = frozenset(self.ends)
        return made


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@st.composite
def cases(draw: st.DrawFn, slug: str, dice: Sequence[str] = ("greedy", "shared", "ratio"), most_users: int = 4) -> Case:
    """A case of any kind. What Hypothesis shrinks to stands first."""
    choice = draw(choices(slug))
    kind = draw(st.sampled_from(dice))
    tokenizers = ["same", "same", "same", "tli"] + ["slem"] * (not choice.spec.needs_scores)
    tokenizer = draw(st.sampled_from(tokenizers))
    vocab = 12 if tokenizer != "same" else draw(st.sampled_from([12, 5, 3]))
    tokens = st.integers(0, vocab - 1)
    prompts = st.lists(st.lists(tokens, min_size=1, max_size=5).map(tuple), min_size=1, max_size=most_users + 1)
    is_sampled = kind != "greedy"
    return Case(
        choice.label,
        kind,
        temperature=draw(st.sampled_from([0.9, 0.4, 1.4])) if is_sampled else 0.9,
        penalty=draw(st.sampled_from([1.0, 1.0, 1.3, 0.8])),
        top_k=draw(st.sampled_from([0, 0, 4])) if is_sampled else 0,
        top_p=draw(st.sampled_from([1.0, 1.0, 0.8])) if is_sampled else 1.0,
        new=draw(st.integers(1, 24)),
        vocab=vocab,
        seed=draw(st.integers(0, 99)),
        noise=draw(st.sampled_from([0.8, 0.3, 0.0, 1.5])),
        loops=tokenizer == "same" and draw(st.booleans()),
        tokenizer=tokenizer,
        ends=draw(st.lists(tokens, max_size=2, unique=True).map(tuple)),
        stop=draw(st.just(()) | st.lists(tokens, min_size=1, max_size=3).map(tuple)),
        contexts=draw(st.just((4096, 4096)) | st.tuples(st.integers(6, 20), st.integers(3, 20))),
        users=draw(st.integers(1, most_users)),
        prompts=tuple(draw(prompts)),
    )  # fmt: skip


# ---- runs


@dataclass
class Run:
    """The texts of a case, decoded so many at a time by the real loop. They share what texts of a comparison share."""

    case: Case
    make: Callable[[Parts], Drafter] | None = None  # in place of the case's strategy
    process: DraftProcess | None = None
    clock: Callable[[], Clock] = Clock
    memory: dict[str, Any] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = self.case.world()
        self.state = BatchState(JOINT if self.case.choice.spec.usual_source.prices_rounds else None)
        self.lanes: Lanes | None = None
        if self.case.choice.all_params.get("placement") in PLACEMENTS:
            here = self.world.target.device
            self.lanes = Lanes(Lane(here), Lane(here), self.world.draft)

    def decode(self, users: int) -> Sequence[Text]:
        decode_by(users, map(self.begin, range(len(self.case.prompts))), self.state)
        return self.texts

    def begin(self, number: int, most: int = 0) -> Text:
        """Begin to decode a prompt, to at most so many tokens."""
        case, world = self.case.but(new=most or self.case.new), self.world
        own = dataclasses.replace(
            world,
            target=world.target.model.new_runner(),
            draft=world.draft.model.new_runner(),
            memory=self.memory,
            draft_process=self.process,
            clock=self.clock,
            lanes=self.lanes,
        )
        seed = case.seed + number
        made = own.sequence(
            self.make or case.choice, case.prompts[number], case.sampling, seed, case.ending, Recorder()
        )
        self.texts.append(made)
        return made


def events_of(text: Text) -> Sequence[Event]:
    assert isinstance(text.sink, Recorder)
    return text.sink.events

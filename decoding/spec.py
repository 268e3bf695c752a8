"""Choices and sampling as data: a strategy with its parameters, and how tokens are sampled. Forms, REST and the command
line read their input here.

Standard library only, so the web process can use it. The strategies themselves are in `decoding/strategies`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from decoding.errors import BadSampling, BadStrategy, meant
from decoding.load import ONE, Load
from decoding.params import Value
from decoding.source import Given, Judging, Source
from decoding.ssd.settings import Settings as SpeculatorSettings
from decoding.strategies import STRATEGIES
from decoding.strategy import Strategy

ID = re.compile(r"^([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(frozen=True, slots=True)
class Choice:
    """One strategy with its parameters, at one load: a row of a comparison. A row of an earlier version may lack
    parameters that the strategy has gained; they have their defaults."""

    strategy: str
    params: Mapping[str, Value] = field(default_factory=dict)
    load: Load = ONE

    @property
    def spec(self) -> Strategy:
        return STRATEGIES[self.strategy]

    def at(self, load: Load) -> Choice:
        return dataclasses.replace(self, load=load)

    def source(self, given: Given | None = None) -> Source:
        """Make what drafts for one text."""
        assert self.spec.source, f"{self.strategy} has no source"
        return self.spec.source(given or Given(), **self.settled)

    def sources(self, judge: Judging | None = None) -> Callable[[], Source]:
        """Return what makes the source of each text of a run. `judge` is a classifier's, for copies."""
        return partial(self.source, Given({}, judge=judge))

    def setting_in(self, engine: str) -> str:
        """Return this setting in another engine's words; nothing if that engine cannot do it."""
        return next((one["setting"] for one in self.elsewhere() if one["engine"] == engine), "")

    def elsewhere(self) -> list[dict[str, str]]:
        """Return this setting in the words of each engine that can do it, as pages show it."""
        return [
            {"engine": one.engine, "setting": one.setting, "of": self.settings, "note": one.note}
            for one in self.spec.exports(self.settled)
        ]

    @property
    def needs_likelihoods(self) -> bool:
        """Whether the draft's probabilities shape its trees, so that ranks of the text's tokens do not tell them."""
        return self.spec.can_replay and self.source().needs_likelihoods

    @property
    def settled(self) -> dict[str, Value]:
        """All parameters of the strategy."""
        return {param.name: self.params.get(param.name, param.default) for param in self.spec.params}

    @property
    def ahead(self) -> SpeculatorSettings | None:
        """Settings of its draft's side; None if nothing is prepared ahead."""
        return self.spec.speculates(**self.settled) if self.spec.speculates else None

    @property
    def price_rule(self) -> str:
        """The rule of its classifier whose price decides how long it drafts; empty if no price of a classifier does."""
        return self.spec.price_rule(self.settled)

    @property
    def label(self) -> str:
        """Shortest command-line spelling, and the load if there is one: `static:4`, `threshold:0.4,cap=10 @8`."""
        return self.settings + self.load.suffix

    @property
    def settings(self) -> str:
        """The label without the load."""
        params = self.settled
        words = [_word(params[param.name]) for param in self.spec.params]
        if not words:
            return self.strategy
        rest = [
            f"{param.name}={word}"
            for param, word in zip(self.spec.params[1:], words[1:], strict=True)
            if params[param.name] != param.default
        ]
        settings = ",".join(filter(None, [words[0], *rest]))
        return f"{self.strategy}:{settings}" if settings else self.strategy


def _word(value: Value) -> str:
    """Shorten an id to its first part, which is enough to recognise it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else ID.sub(r"\1", str(value))


def choose(strategy: str, params: Mapping[str, object] | None = None) -> Choice:
    """Make a choice. Every caller's strategies are checked here."""
    spec = STRATEGIES.get(strategy)
    if spec is None:
        sentence = f"There is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}."
        raise BadStrategy(sentence + meant(strategy, STRATEGIES))
    return Choice(strategy, spec.read(params or {}))


def parse_choices(text: str) -> list[Choice]:
    """Read `autoregressive,static:4,threshold:0.4,cap=10`. A piece `name=value` belongs to the strategy before it."""
    asked: list[tuple[str, dict[str, object]]] = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        head, colon, value = piece.partition(":")
        if not colon and "=" in piece:
            if not asked:
                raise BadStrategy(f"{piece!r} stands before any strategy; write strategy:{piece}.")
            value = piece
        else:
            asked.append((head, {}))
        if value:
            _add_setting(*asked[-1], value)
    if not asked:
        raise BadStrategy(f"No strategy is named; name some of {', '.join(STRATEGIES)}.")
    choices = [choose(name, params) for name, params in asked]
    for index, choice in enumerate(choices):
        if choice in choices[:index]:
            raise BadStrategy(f"{choice.label} is named twice; a comparison runs each strategy once per sample.")
    return choices


def _add_setting(strategy: str, params: dict[str, object], text: str) -> None:
    name, value = _setting(strategy, text)
    if name in params:
        raise BadStrategy(f"{strategy} is given {name} twice; give it once.")
    params[name] = value


def _setting(strategy: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    spec = STRATEGIES.get(strategy)
    if equals:
        names = {param.short: param.name for param in spec.params if param.short} if spec else {}
        return names.get(name.strip(), name.strip()), value.strip()
    if spec is None or not spec.params:
        raise BadStrategy(f"{strategy} takes no value, but was given {text!r}.")
    return spec.params[0].name, text.strip()


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

"""Choices as data: a strategy with its parameters, at a load. Forms, REST and the command line read their input here.

Standard library only, so the web process can use it. The strategies themselves are in `decoding/strategies`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from decoding.core.load import ONE, Load
from decoding.drafting.params import Value
from decoding.drafting.source import Given, Judging, Sight, Source
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.drafting.strategy import CLASSIFIER, JUDGE, NEWEST, Strategy
from decoding.errors import BadStrategy, meant
from decoding.strategies import FORMER, STRATEGIES, current

ID = re.compile(r"^([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(frozen=True, slots=True)
class Choice:
    """One strategy with its parameters, at one load: a row of a comparison. A row of an earlier version may lack
    parameters that the strategy has gained; they have their defaults. Those that it has lost count no more. One may
    name a strategy that is a setting of another now."""

    strategy: str
    params: Mapping[str, Value] = field(default_factory=dict)
    load: Load = ONE
    stored: str = field(default="", compare=False)  # the label under which it ran, and its results are known

    def __post_init__(self) -> None:
        if self.strategy in FORMER:
            strategy, params = current(self.strategy, self.params)
            object.__setattr__(self, "strategy", strategy)
            object.__setattr__(self, "params", params)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Choice:
        """Return the choice of a document's row, without its load."""
        return cls(row["strategy"], row.get("params", {}))

    @property
    def spec(self) -> Strategy:
        return STRATEGIES[self.strategy]

    @property
    def kind(self) -> str:
        """The strategy, with the settings that set it apart: plans and remarks treat each kind for itself."""
        params = self.all_params
        apart = [one for one in self.spec.params if one.sets_apart and params[one.name] != one.default]
        settings = ",".join(f"{one.name}={one.word or _word(params[one.name])}" for one in apart)
        return f"{self.strategy}:{settings}" if settings else self.strategy

    @property
    def classifier(self) -> str | None:
        """Name of the classifier that it asks, empty for the newest; None if it asks none."""
        named = self.all_params.get(CLASSIFIER.name)
        if named is None or (not named and JUDGE in self.spec.params):
            return None
        return "" if named == NEWEST else str(named)

    def asking(self, classifier: str) -> Choice:
        """Return the choice with this classifier, or with the newest if the name is empty; itself if it asks none."""
        if self.classifier is None:
            return self
        usual = NEWEST if JUDGE in self.spec.params else ""
        return Choice(self.strategy, {**self.params, CLASSIFIER.name: classifier or usual}, self.load)

    @property
    def judges_copies(self) -> bool:
        """Whether its classifier estimates copied tokens, so must have learned from such."""
        return self.classifier is not None and self.spec.usual_source.copies

    @property
    def sees(self) -> Sight:
        """The sight that its source needs."""
        return self.source().sees if self.spec.source else "nothing"

    @property
    def remembers(self) -> bool:
        """Whether its drafts depend on earlier texts of a run."""
        return self.spec.source is not None and self.source().remembers

    @property
    def remark(self) -> str:
        """Note on its results; empty for most. `measure.schedule` begins each repeat at another prompt."""
        by_order = "copies from earlier requests, so what it gains depends on their order"
        return by_order if self.remembers else self.spec.remark

    def at(self, load: Load) -> Choice:
        return Choice(self.strategy, self.params, load)

    def source(self, given: Given | None = None) -> Source:
        """Make what drafts for one text. What asks no classifier is given none."""
        assert self.spec.source, f"{self.strategy} has no source"
        given = given or Given()
        return self.spec.source(Given(given.memory) if self.classifier is None else given, **self.all_params)

    def sources(self, judge: Judging | None = None) -> Callable[[], Source]:
        """Return what makes the source of each text of a run. `judge` is a classifier's, for copies."""
        return partial(self.source, Given({}, judge=judge))

    def elsewhere(self) -> list[dict[str, str]]:
        """Return this setting in the words of each engine that can do it, as pages show it."""
        return [
            {"engine": one.engine, "setting": one.setting, "of": self.settings, "note": one.note}
            for one in self.spec.exports(self.all_params)
        ]

    @property
    def needs_likelihoods(self) -> bool:
        """Whether the draft's probabilities shape its trees, so that ranks of the text's tokens do not tell them."""
        return self.spec.can_replay and self.source().needs_likelihoods

    @property
    def all_params(self) -> dict[str, Value]:
        """All parameters of the strategy."""
        return {name: self.params.get(name, value) for name, value in self.spec.defaults(self.params).items()}

    @property
    def ahead(self) -> SpeculatorSettings | None:
        """Settings of its draft's side; None if nothing is prepared ahead."""
        return self.spec.speculates(**self.all_params) if self.spec.speculates else None

    @property
    def price_rule(self) -> str:
        """The rule of its classifier whose price decides how long it drafts; empty if no price of a classifier does."""
        return self.spec.price_rule(self.all_params)

    @property
    def label(self) -> str:
        """Shortest command-line spelling, and the load if there is one: `static:4`, `threshold:0.4,cap=10 @8`."""
        return self.stored or self.settings + self.load.suffix

    @property
    def settings(self) -> str:
        """The label without the load."""
        if self.stored:
            return self.stored.removesuffix(self.load.suffix)
        params = self.all_params
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
    strategy, params = current(strategy, params or {})
    spec = STRATEGIES.get(strategy)
    if spec is None:
        sentence = f"There is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}."
        raise BadStrategy(sentence + meant(strategy, STRATEGIES))
    return Choice(strategy, spec.read(params))


def planned() -> Iterator[Choice]:
    """Return every setting that a planner tries."""
    return (choose(strategy.slug, params) for strategy in STRATEGIES.values() for params in strategy.grid())


def by_kind(choices: Iterable[Choice]) -> dict[str, list[Choice]]:
    found: dict[str, list[Choice]] = {}
    for choice in choices:
        found.setdefault(choice.kind, []).append(choice)
    return found


def labelled(names: Iterable[str]) -> list[Choice]:
    """Read the labels among these names."""
    slugs = STRATEGIES.keys() | FORMER
    return [parse_choices(name)[0] for name in names if name.partition(":")[0] in slugs]


def relabelled(label: str) -> str:
    """Spell a label of an earlier version as it is spelled now."""
    settings, at, load = label.partition(" @")
    if settings.partition(":")[0] in FORMER:
        with suppress(BadStrategy):
            return parse_choices(settings)[0].settings + at + load
    return label


def renamed(name: str) -> str:
    """Return the kind of choice that a strategy of an earlier version is now; any other name as it is."""
    return Choice(name).kind if name in FORMER else name


def remarks_on(choices: Iterable[Choice]) -> list[str]:
    """Sentences on what to know of results of these choices, each kind's once."""
    return [*dict.fromkeys(f"{choice.kind} {choice.remark}." for choice in choices if choice.remark)]


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
    if strategy in FORMER and not equals:
        return FORMER[strategy][1].first, text.strip()
    spec = STRATEGIES.get(strategy)
    if equals:
        names = {param.short: param.name for param in spec.params if param.short} if spec else {}
        return names.get(name.strip(), name.strip()), value.strip()
    if spec is None or not spec.params:
        raise BadStrategy(f"{strategy} takes no value, but was given {text!r}.")
    return spec.params[0].name, text.strip()

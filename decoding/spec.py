"""The strategies and the sampling settings as data: what a form, the API and the command line offer and accept.

Standard library only, so the web process can read it. `decoding.registry` holds the builders, one per slug here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from decoding import contestants
from decoding.errors import BadSampling, BadStrategy, meant
from decoding.params import Param, Value
from decoding.ssd import fanout
from decoding.strategy_spec import StrategySpec

ID = re.compile(r"^([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


_LOOKAHEAD = "how many tokens are drafted each round"
_CAP = "the most tokens drafted in one round"
_CLASSIFIER = Param("classifier", "text", "", "which classifier; none named takes the pair's own")
_BRANCHES = Param("branches", "int", 12, "how many outcomes are prepared for each round", 1, 512)
_PLACEMENT = Param(
    "placement",
    "choice",
    "auto",
    "where the draft works: beside the target on a core of its own, on another GPU than the target (two-gpus), on the "
    "same GPU on a stream of its own (two-streams), or in turn with it; auto: beside where there are two cores",
    choices=("auto", "beside", "in-turn", "two-gpus", "two-streams"),
)


def _check_fanout(params: Mapping[str, Value]) -> None:
    name, lookahead, branches = str(params["fanout"]), params["lookahead"], params["branches"]
    try:
        fanout.read(name, int(lookahead), int(branches))
    except ValueError as error:
        raise BadStrategy(f"fanout is {name!r}, {error}") from None


STRATEGIES: dict[str, StrategySpec] = {
    spec.slug: spec
    for spec in (
        StrategySpec(
            "autoregressive",
            "Autoregressive",
            "The target alone, one token a pass: the baseline.",
            "baseline",
        ),
        StrategySpec(
            "static",
            "Static lookahead",
            "The same number of drafted tokens every round.",
            "ranked",
            (Param("lookahead", "int", 4, _LOOKAHEAD, 1, 64),),
        ),
        StrategySpec(
            "heuristic",
            "Heuristic",
            "The transformers rule: two more after a round that was accepted whole, otherwise one fewer.",
            "ranked",
            (Param("initial", "int", 5, "the lookahead of a sample's first round", 1, 64),),
        ),
        StrategySpec(
            "threshold",
            "Threshold",
            "Drafting stops after a token that the draft itself held less likely than the threshold.",
            "ranked",
            (
                Param("threshold", "float", 0.4, "stop below this probability", 0.0, 1.0),
                Param("cap", "int", 20, _CAP, 1, 64),
                Param("adaptive", "bool", False, "refit the threshold after every round from the ROC curve so far"),
            ),
        ),
        StrategySpec(
            "oracle",
            "Oracle",
            "A bound, not a strategy: stops after the first token that the target will refuse.",
            "bound",
            (Param("cap", "int", 32, _CAP, 1, 64),),
        ),
        StrategySpec(
            "disco",
            "DISCO",
            "A trained classifier decides after each drafted token whether to draft another.",
            "ranked",
            (
                Param(
                    "rule",
                    "choice",
                    "priced",
                    "priced: stop when one more token costs more time than it can bring; "
                    "threshold: stop below a fixed estimate, as published",
                    choices=("priced", "threshold"),
                ),
                Param("threshold", "float", 0.0, "where the rule stops; 0 takes the classifier's own", 0.0, 1.0),
                Param("cap", "int", 20, _CAP, 1, 64),
                _CLASSIFIER,
            ),
        ),
        StrategySpec(
            "ssd",
            "SSD",
            "While the target verifies, the draft prepares the next drafts for the outcomes that are likely.",
            "ranked",
            (
                Param("lookahead", "int", 4, _LOOKAHEAD, 1, 64, short="k"),
                Param(
                    "fanout",
                    "text",
                    "geometric",
                    "how branches are spread over the accepted counts: uniform, geometric, measured, or a list such as "
                    "5/4/3 for k=2, branches=12; a second list for rounds after a miss: 5/4/3+8/4/0",
                ),
                _BRANCHES,
                Param(
                    "backup",
                    "choice",
                    "auto",
                    "what drafts after a miss: the draft model, what followed the same words before, or random tokens; "
                    "auto: the model or the n-gram, by what each brought in time so far",
                    choices=("auto", "neural", "ngram", "random"),
                ),
                Param(
                    "constant",
                    "float",
                    1.0,
                    "Saguaro sampling: the draft holds back from what is cached by this factor, above 0; "
                    "of effect under ratio dice only",
                    1e-6,
                    1.0,
                    short="C",
                ),
                _PLACEMENT,
            ),
            _check_fanout,
        ),
        StrategySpec(
            "ssd-disco",
            "SSD with DISCO",
            "SSD where the trained classifier says which outcomes are prepared, how deep, and how much is verified.",
            "ranked",
            (
                Param("cap", "int", 8, _CAP, 1, 64),
                _BRANCHES,
                _CLASSIFIER,
                _PLACEMENT,
            ),
        ),
        *contestants.specs(),
    )
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One strategy with all its parameters: a row of a comparison."""

    strategy: str
    params: Mapping[str, Value] = field(default_factory=dict)

    @property
    def spec(self) -> StrategySpec:
        return STRATEGIES[self.strategy]

    @property
    def label(self) -> str:
        """The shortest command-line spelling: `static:4`, `threshold:0.4,cap=10`."""
        words = [_word(self.params[param.name]) for param in self.spec.params]
        if not words:
            return self.strategy
        rest = [
            f"{param.name}={word}"
            for param, word in zip(self.spec.params[1:], words[1:], strict=True)
            if self.params[param.name] != param.default
        ]
        return f"{self.strategy}:" + ",".join([words[0], *rest])


def _word(value: Value) -> str:
    """An id is long and says nothing: its first part tells it from the others."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else ID.sub(r"\1", str(value))


def choose(strategy: str, params: Mapping[str, object] | None = None) -> Choice:
    """The one door through which a strategy enters, whoever asks."""
    spec = STRATEGIES.get(strategy)
    if spec is None:
        told = f"There is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}."
        raise BadStrategy(told + meant(strategy, STRATEGIES))
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
    top_k: int = 0  # 0: all
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
    def fixes_the_text(self) -> bool:
        """Whether every strategy must give the very same tokens, so that texts can be compared."""
        return self.is_greedy or self.dice == "shared"

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "stop": list(self.stop)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Sampling:
        """The settings as JSON has them; defaults where none are given."""
        return cls(**{**given, "stop": tuple(given.get("stop", ()))})


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # NaN fails too
        bounds = " and ".join(f"{bound:,}" if isinstance(bound, int) else f"{bound:g}" for bound in (low, high))
        raise BadSampling(f"{name} is {value}; it must lie between {bounds}.")

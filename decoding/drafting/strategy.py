"""Strategy: its parameters, its mark and colour, the settings that the planner tries, and the source of its drafts.

Standard library only, because the web process imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from decoding.drafting.params import Param, Value
from decoding.drafting.source import Chain, Given, Source
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.errors import BadStrategy, meant

Role = Literal[
    "baseline",  # every strategy is compared with it
    "ranked",  # could be deployed
    "bound",  # knows something that no real strategy can know: drawn, never ranked
    "peer",  # another implementation, run beside ours
    "server",  # another program, asked over HTTP; ranked, and offered only where its address is known
]

LONGEST = 20  # the longest draft that planner and what-if consider
LOOKAHEAD = "how many tokens are drafted each round"
CAP = "the most tokens drafted in one round"
CLASSIFIER = Param("classifier", "text", "", "a classifier's id; empty: the newest of the pair")
NEWEST = "newest"
JUDGE = replace(  # of a strategy that runs without one too
    CLASSIFIER,
    help=f"the id of a classifier that judges each token, or {NEWEST}: the newest of the pair; empty: none",
    word=NEWEST,
    sets_apart=True,
)


# ---- the look


@dataclass(frozen=True, slots=True)
class Looks:
    """The mark and colour of a strategy, so that colour is never the only difference (Okabe-Ito colours)."""

    glyph: str  # in a terminal
    path: str  # SVG path data, within -10 to 10
    light: str  # CSS colour on light paper
    dark: str = ""  # on dark paper, where it differs
    terminal: int | None = None  # nearest of the 256 terminal colours; None: the terminal's own


@dataclass(frozen=True, slots=True)
class Slider:
    """A parameter that what-if lets the user move: a range, or a choice among names."""

    param: str
    low: float = 0
    high: float = 0
    step: float = 1
    options: tuple[str, ...] = ()

    @property
    def values(self) -> list[float]:
        count = round((self.high - self.low) / self.step) + 1
        return [round(self.low + i * self.step, 9) for i in range(count)]


JUDGED = Slider(JUDGE.name, options=("", NEWEST))


# ---- the strategy


@dataclass(frozen=True, slots=True)
class Former:
    """Strategy of an earlier version that is a setting of another one now."""

    slug: str
    params: Mapping[str, Value]  # what makes the other one draft as it did
    first: str  # the parameter, by its name now, whose value could be given without a name
    renamed: Mapping[str, str] = field(default_factory=dict)  # parameters by their earlier names

    def now(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the parameters of the other strategy. An empty text stood for what is usual."""
        named = {self.renamed.get(name, name): value for name, value in given.items() if value != ""}
        return {**self.params, **named}


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """A setting in another engine's words."""

    engine: str
    setting: str
    note: str = ""  # where it holds, or what the engine cannot do


SourceOf = Callable[..., Source]  # called with what is Given, and the strategy's parameters
Settings = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Strategy:
    slug: str
    title: str
    summary: str
    role: Role
    looks: Looks
    order: int = 100  # where it stands in lists
    params: tuple[Param, ...] = ()  # the first may be given on the command line without its name
    check: Callable[[Mapping[str, Value]], None] = lambda params: None  # refuses a combination of parameters
    source: SourceOf | None = None  # makes what drafts for one text; None: another contestant decodes
    price_rule: Callable[[Settings], str] = lambda params: ""  # which of its classifier's prices it uses, if any
    swept: tuple[str, ...] = ()  # rules of a classifier's sweep that move this strategy's threshold
    speculates: Callable[..., SpeculatorSettings] | None = None  # if the draft prepares while the target verifies
    grid: Callable[[], Iterable[Settings]] = lambda: ()  # settings that the planner tries
    finer: Callable[[Settings], Iterable[Settings]] = lambda params: ()  # and then, near the best of the grid
    not_in_traces: str = ""  # a setting, as a label, that what-if cannot replay
    why_not: str = ""  # the reason
    exports: Callable[[Settings], Iterable[EngineSetting]] = lambda params: ()  # what to set in other engines
    usual: tuple[Settings, ...] = ()  # settings that a new comparison begins with
    demo: tuple[Settings, ...] = ()  # settings that the demo runs
    sliders: tuple[Slider, ...] = ()  # offered by what-if; the first one is the axis of its curve
    if_judged: Settings = field(default_factory=dict)  # defaults that differ where a classifier judges
    formerly: tuple[Former, ...] = ()  # strategies that have become settings of this one
    remark: str = ""  # a note below the table of results, shown after the strategy's label
    needs_draft: bool = True  # False: it runs on a target alone

    @property
    def usual_source(self) -> Source:
        """A source with the usual parameters, for what is true of it whatever these are."""
        return self.source(Given(), **self.read({})) if self.source else Chain()

    @property
    def can_replay(self) -> bool:
        """Whether a recorded text tells what it would draft."""
        return self.source is not None and not self.usual_source.blocks

    @property
    def prepares_ahead(self) -> bool:
        """Whether the draft works while the target verifies."""
        return self.speculates is not None

    @property
    def copies_only(self) -> bool:
        """Whether all its drafts are copies."""
        return self.usual_source.copies and not self.needs_draft

    @property
    def needs_scores(self) -> bool:
        """Whether it needs the draft's scores of the target's tokens, so cannot run where the two match text."""
        source = self.usual_source
        mixes = source.copies and self.needs_draft
        return self.prepares_ahead or mixes or source.branches or source.sees == "fate"

    @property
    def drafts_with_the_pair(self) -> bool:
        """Whether the pair's draft model makes its drafts. What-if then learns from them about other strategies."""
        return self.needs_draft and not self.usual_source.blocks and self.role in ("ranked", "bound")

    @property
    def prices_passes(self) -> bool:
        """Whether its rounds consist of the pair's passes alone. What-if then reads the costs of passes from them."""
        source = self.usual_source
        is_plain = self.can_replay and source.sees in ("nothing", "confidence", "peak") and not source.branches
        return is_plain and self.role in ("baseline", "ranked")

    @property
    def may_ask(self) -> bool:
        """Whether some of its settings ask a classifier."""
        return any(param.name == CLASSIFIER.name for param in self.params)

    @property
    def sets_apart(self) -> bool:
        """Whether some of its settings are treated each for itself."""
        return any(param.sets_apart for param in self.params)

    def defaults(self, given: Mapping[str, object]) -> dict[str, Value]:
        """Return the default of each parameter beside the given ones."""
        judged = self.if_judged if given.get(CLASSIFIER.name) else {}
        return {param.name: judged.get(param.name, param.default) for param in self.params}

    def read(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in. An unknown name or a bad value raises BadStrategy."""
        known = {param.name for param in self.params}
        for name in given:
            if name not in known:
                offer = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
                raise BadStrategy(f"{self.slug} has no parameter {name!r}; {offer}.{meant(name, known)}")
        usual = self.defaults(given)
        try:
            params = {param.name: param.read(given.get(param.name, usual[param.name])) for param in self.params}
            self.check(params)
            return params
        except BadStrategy as error:
            raise BadStrategy(f"{self.slug}: {error}.") from None

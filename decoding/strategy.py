"""Strategy: its parameters, its mark and colour, the settings that the planner tries, and its policy.

Standard library only, because the web process imports it. `build` gets `Parts`, which may use torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from decoding.crowd import ALONE, Crowd
from decoding.errors import BadStrategy, meant
from decoding.params import Param, Value
from decoding.proposing import Proposer
from decoding.ssd.settings import Settings as SpeculatorSettings
from decoding.tree_shapes import TreePolicy

Role = Literal[
    "baseline",  # every strategy is compared with it
    "ranked",  # could be deployed
    "bound",  # knows something that no real strategy can know: drawn, never ranked
    "peer",  # another implementation, run beside ours
    "server",  # another program, asked over HTTP; ranked, and offered only where its address is known
]

WORDS = 8  # tokens that a policy may read as words
LONGEST = 20  # the longest draft that planner and what-if consider
LOOKAHEAD = "how many tokens are drafted each round"
CAP = "the most tokens drafted in one round"
CLASSIFIER = Param("classifier", "text", "", "a classifier's id; empty: the newest of the pair")


# ---- the decisions

Sight = Literal[
    "nothing",
    "confidence",  # the draft's own probability of the token
    "lead",  # the draft's preference for the token over its second choice, as a probability, with the dice's noise
    "peak",  # the draft's probability of its likeliest token: it says nothing about which token was drawn
    "estimate",  # a classifier's probability that the target accepts the token
    "fate",  # 1 if the target will accept the token, else 0: for bounds only
]


class Judged(Protocol):
    """A draft that the target has judged."""

    @property
    def tokens(self) -> Sequence[int]: ...
    @property
    def confidence(self) -> Sequence[float]:
        """The draft's own probability of each token, as far as known."""
        ...


class Policy:
    """Decides how long each draft gets. One object serves one text, so it may remember earlier rounds.

    The decode loop drives it with models; replay, planner and what-if drive the same object with recordings.
    """

    sees: ClassVar[Sight] = "nothing"  # the value that `stops` gets of each token; "nothing": nobody calls `stops`
    prices_rounds: ClassVar[bool] = False  # whether it needs `crowd.costs`
    lookahead: int = 0  # the most tokens that this round may draft
    crowd: Crowd = ALONE  # the texts that are decoded together with this one

    @property
    def rests(self) -> bool:
        """Whether it drafts nothing for now: then the draft model need not read the prompt yet."""
        return False

    def begin(self, words: Callable[[], str]) -> None:
        """Start a round. `words()` returns the text's last tokens as words, `WORDS` of them."""

    def stops(self, seen: float) -> bool:
        """Whether to stop after the token just drafted. The token stays in the draft either way: dropping a token
        because of what it is would bias the output."""
        return False

    def keeps(self, drafted: int) -> int:
        """How many of the drafted tokens the target shall verify. No token's own value may decide about it: dropping a
        token because of what it is would bias the output."""
        return drafted

    def judged(self, draft: Judged, accepted: int) -> None:
        """Learn how many tokens of the round's draft the target accepted."""


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


# ---- the strategy


LLAMA_CPP = "llama.cpp"  # the name of that engine in exports


@dataclass(frozen=True, slots=True)
class Export:
    """A setting in another engine's words."""

    engine: str
    setting: str
    note: str = ""  # where it holds, or what the engine cannot do


class Parts(Protocol):
    """The parts of one sample that `build` may use (`decoding.registry.Parts`). Drafters are in `decoding.drafters`."""

    @property
    def classifier(self) -> Callable[[str], Any]: ...
    @property
    def memory(self) -> dict[str, Any]: ...
    def no_draft(self) -> Any: ...
    def copying(self, proposer: Proposer) -> Any: ...
    def drafter(self, policy: Policy, classifier: Any = None) -> Any: ...
    def shaped(self, policy: TreePolicy) -> Any: ...
    def speculating(self, placement: str, settings: Any, classifier: Any = None) -> Any: ...


PolicyOf = Callable[..., Policy]  # called with the strategy's parameters
ProposerOf = Callable[..., Proposer]  # the same
TreePolicyOf = Callable[..., TreePolicy]  # called with counts that all texts share, and the parameters
Builder = Callable[..., Any]  # called with Parts and the parameters, returns a Drafter
MixOf = Callable[..., Any]  # called with a memory, a clock and the parameters, returns a decoding.mixing.Mix


Settings = Mapping[str, Value]


def assistant(tokens: int, threshold: float) -> str:
    """Line of code that configures a transformers assistant. The assistant reads its own `generation_config`; the same
    settings passed to `generate` have no effect."""
    return (
        f"assistant_model.generation_config.update(num_assistant_tokens={tokens}, "
        f"num_assistant_tokens_schedule='constant', assistant_confidence_threshold={threshold:g})"
    )


def llama_draft(tokens: int, threshold: float) -> str:
    """Options of llama-server. Without `--spec-type` it loads the draft and never uses it."""
    stops = f" --spec-draft-p-min {threshold:g}" if threshold else ""
    return f"-md DRAFT --spec-type draft-simple --spec-draft-n-max {tokens}{stops}"


def _no_settings() -> Iterable[Settings]:
    return ()


def _nothing_finer(params: Settings) -> Iterable[Settings]:
    return ()


def _no_exports(params: Settings) -> Iterable[Export]:
    return ()


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
    policy: PolicyOf | None = None
    proposer: ProposerOf | None = None  # copies tokens from the text; no model drafts
    mixes: MixOf | None = None  # copies tokens from the text and lets the draft model go on
    tree: TreePolicyOf | None = None  # drafts trees, and its policy chooses their shapes
    build: Builder | None = None  # None: the proposer drafts, or the draft model does and the policy stops it
    price_rule: Callable[[Settings], str] = lambda params: ""  # which of its classifier's prices it uses, if any
    swept: tuple[str, ...] = ()  # rules of a classifier's sweep that move this strategy's threshold
    speculates: Callable[..., SpeculatorSettings] | None = None  # if the draft prepares while the target verifies
    grid: Callable[[], Iterable[Settings]] = _no_settings  # settings that the planner tries
    finer: Callable[[Settings], Iterable[Settings]] = _nothing_finer  # and then, near the best of the grid
    not_in_traces: str = ""  # a setting, as a label, that what-if cannot replay
    why_not: str = ""  # the reason
    exports: Callable[[Settings], Iterable[Export]] = _no_exports  # what to set in other engines
    usual: tuple[Settings, ...] = ()  # settings that a new comparison begins with
    demo: tuple[Settings, ...] = ()  # settings that the demo runs
    sliders: tuple[Slider, ...] = ()  # offered by what-if; the first one is the axis of its curve
    remembers: bool = False  # its proposer gets `memory`, which all texts of a run share
    bound: str = ""  # slug of the strategy that knows what this one must guess; regret is against it
    remark: str = ""  # a note below the table of results, shown after the strategy's label
    needs_draft: bool = True  # False: it runs on a target alone

    @property
    def sees(self) -> Sight | None:
        """The sight that its policy needs, whatever the parameters; None if it has no policy."""
        if self.mixes:
            judged: dict[str, Any] = {"judge": None} if self.needs_classifier else {}
            sight: Sight = self.mixes({}, lambda: 0, **judged, **self.read({})).policy.sees
            return sight
        return self.policy(**self.read({})).sees if self.policy else None

    @property
    def can_replay(self) -> bool:
        """Whether a recorded text tells what it would draft."""
        return bool(self.policy or self.proposer or self.mixes or self.tree)

    @property
    def prepares_ahead(self) -> bool:
        """Whether the draft works while the target verifies."""
        return self.speculates is not None

    @property
    def needs_scores(self) -> bool:
        """Whether it needs the draft's scores of the target's tokens, so cannot run where the two match text."""
        return self.prepares_ahead or bool(self.mixes or self.tree) or self.sees == "fate"

    @property
    def prices_rounds(self) -> bool:
        """Whether its policy needs the costs of joint passes."""
        return self.policy is not None and self.policy(**self.read({})).prices_rounds

    @property
    def drafts_with_the_pair(self) -> bool:
        """Whether the pair's draft model makes its drafts. What-if then learns from them about other strategies."""
        return self.needs_draft and self.role in ("ranked", "bound")

    @property
    def needs_classifier(self) -> bool:
        return any(param.name == CLASSIFIER.name for param in self.params)

    @property
    def judges_copies(self) -> bool:
        """Whether its classifier estimates copied tokens, so must have learned from such."""
        return self.needs_classifier and bool(self.proposer or self.mixes)

    @property
    def prices_passes(self) -> bool:
        """Whether its rounds consist of the pair's passes alone. What-if then reads the costs of passes from them."""
        is_plain = self.proposer is not None or self.sees in ("nothing", "confidence", "peak")
        return is_plain and not self.mixes and self.role in ("baseline", "ranked")

    def remark_after(self, repeats: int) -> str:
        """Return the remark of a comparison with so many repeats: `measure.schedule` begins each at another prompt."""
        if not self.remembers:
            return self.remark
        if repeats == 1:
            return f"{self.remark}; there was one order, that of the prompts: with more repeats, each begins elsewhere"
        return f"{self.remark}; each of the {repeats} repeats begins at another prompt"

    def read(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters with defaults filled in. An unknown name or a bad value raises BadStrategy."""
        known = {param.name for param in self.params}
        for name in given:
            if name not in known:
                offer = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
                raise BadStrategy(f"{self.slug} has no parameter {name!r}; {offer}.{meant(name, known)}")
        try:
            params = {param.name: param.read(given.get(param.name, param.default)) for param in self.params}
            self.check(params)
            return params
        except BadStrategy as error:
            raise BadStrategy(f"{self.slug}: {error}.") from None

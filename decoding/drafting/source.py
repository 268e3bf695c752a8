"""Source: where the drafts of one text come from. It yields what it wants drafted, and is sent what it asked to see.

The decode loop answers it with models (`decoding.drafting.driver`), replay and planner answer it with recordings
(`decoding.replay.player`). So a source must not depend on which tokens a model drafts: only a copy names tokens.
Standard library only.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from decoding.core.batch_state import SINGLE, BatchState
from decoding.errors import BadStrategy
from decoding.trace.events import StopReason

WORDS = 8  # tokens that a source may read as words
Words = Callable[[Sequence[int]], str]  # the tokenizer's decode
END = -1  # the text's end, where numbers stand for drafted tokens

Sight = Literal[
    "nothing",
    "confidence",  # the draft's own probability of the token
    "lead",  # the draft's preference for the token over its second choice, as a probability, with the dice's noise
    "peak",  # the draft's probability of its likeliest token: it says nothing about which token was drawn
    "estimate",  # a classifier's probability that the target accepts the token
    "fate",  # 1 if the target will accept the token, else 0: for bounds only
]


# ---- what a source asks for


class Copy(NamedTuple):
    """Tokens that cost no pass. Nothing is sent back."""

    tokens: Sequence[int]  # as far as they are usable: see `View.usable`


class Step(NamedTuple):
    """One pass of the drafting model.

    Without parents, the dice draw one token after the last one of the draft, and the value that `sees` names is sent
    back. With parents, the pass makes a level of a tree: one token after each parent that is named, its best
    alternatives first. `Step((END, END))` makes tokens 0 and 1, the two likeliest; `Step((0, 0, 1))` then makes tokens
    2 and 3 after the first of them and 4 after the second. With `paths`, the level has that many tokens on the
    likeliest paths behind these parents, and the numbers of those that may have followers are sent back.
    """

    parents: Sequence[int] = ()  # numbers of drafted tokens; END for the text's end
    listed: int = 0  # alternatives after each parent whose rank `judged` tells apart; 0: as many as are drafted
    paths: int = 0


class Block(NamedTuple):
    """One pass of the drafting model that gives distributions for several positions at once. The dice draw a token from
    each, and the draft ends there."""

    length: int


class Foresee(NamedTuple):
    """For bounds only: how many tokens of the drafting model and how many of this copy the target will accept. Both are
    sent back. It takes no time."""

    copy: Sequence[int]


Ask = Copy | Step | Block | Foresee
Asking = Generator[Ask, Any, StopReason]  # returns why the source wants no more
STEP = Step()


def next_of(asking: Asking, answer: object = None) -> Ask | StopReason:
    """Return what is asked for next, or why there is nothing more to ask for."""
    try:
        return asking.send(answer)
    except StopIteration as end:
        reason: StopReason | None = end.value
        if reason is None:
            raise BadStrategy('A source\'s `propose` must return why it wants no more, such as "limit".') from None
        return reason


def until_refused(most: int) -> Asking:
    """Ask for tokens up to the first one that the target will refuse, for a source that sees their fate."""
    for _ in range(most):
        if not (yield STEP):
            return "rule"
    return "limit"


# ---- what a source learns


class Judgement(NamedTuple):
    """A verdict on a source's draft."""

    tokens: int  # of the draft
    accepted: int
    copied: int = 0  # tokens of the draft that were copied
    passes: int = 0  # of the drafting model
    took: int = 0  # time of the verification, in ns
    drafting: int = 0  # time of drafting, in ns
    ranks: Sequence[int] = ()  # of a tree: where the text's token stood after each accepted place that was listed

    @property
    def drafted(self) -> int:
        """Tokens of the draft that the drafting model made."""
        return self.tokens - self.copied


def no_words(tokens: Sequence[int]) -> str:
    """Stand in for a missing tokenizer."""
    return ""


@dataclass
class View:
    """View of a text, as far as its source may see it."""

    text: Sequence[int] = ()  # the committed tokens
    room: int = sys.maxsize  # most tokens that a draft may have
    ends: Collection[int] = ()
    vocab: int = sys.maxsize
    now: Callable[[], int] = lambda: 0  # a clock, in ns
    spelled: Words = no_words

    def words(self) -> str:
        """Return the text's last tokens as words, `WORDS` of them."""
        return self.spelled(self.text[-WORDS:])

    def usable(self, tokens: Sequence[int]) -> Sequence[int]:
        """Cut a copy to the room that is left, and before an end token: the target decides itself whether to end. A
        prompt may hold ids that the models' common vocabulary lacks; nobody could judge them."""
        kept = tokens[: self.room]
        for at, token in enumerate(kept):
            if token in self.ends or token >= self.vocab:
                return kept[:at]
        return kept


# ---- sources


class Source(ABC):
    """Drafts for one text. Decode loop, replay, planner and what-if drive the same object."""

    sees: Sight = "nothing"  # the value that is sent back after each step
    copies: ClassVar[bool] = False  # whether it copies from the text
    branches: ClassVar[bool] = False  # whether it drafts trees
    blocks: ClassVar[bool] = False  # whether it drafts blocks: no recording tells what they would hold
    needs_likelihoods: ClassVar[bool] = False  # whether the draft's probabilities shape its trees: ranks do not tell
    prices_rounds: ClassVar[bool] = False  # whether it needs `batch.costs`
    trims: ClassVar[bool] = False  # whether `keeps` goes by what it sees, of an end token too: it must be one of many
    weighs: ClassVar[bool] = False  # whether it weighs copies against the drafting model, by a clock
    remembers: ClassVar[bool] = False  # whether its drafts depend on earlier texts of a run
    lookahead: int = 0  # the most tokens of this round's draft, or levels of its tree
    estimates: Sequence[float] = ()  # probability that each token of a draft with copies is accepted, if it knows
    batch: BatchState = SINGLE  # the texts that are decoded together with this one

    @property
    def rests(self) -> bool:
        """Whether it drafts nothing for now: then the drafting model need not read the prompt yet."""
        return False

    def follow(self, text: Sequence[int]) -> None:  # noqa: B027
        """Take in what the text, which is whole, has gained since the last call. The first call comes with the prompt;
        `propose` makes all others."""

    @abstractmethod
    def propose(self, view: View) -> Asking:
        """Ask for this round's draft. Whoever answers drops the generator where no room is left, and after an end
        token. A draft keeps the token that made the source stop: dropping it because of what it is would bias the
        output."""

    def keeps(self, drafted: int) -> int:
        """How many of the drafted tokens the target shall verify. No token's own value may decide about it: dropping a
        token because of what it is would bias the output."""
        return drafted

    def judged(self, judgement: Judgement) -> None:  # noqa: B027
        """Learn from the verdict on this round's draft, which may be empty."""


class Chain(Source):
    """Lets the drafting model draft token after token, `lookahead` at most: none if that is 0."""

    def __init__(self, lookahead: int = 0) -> None:
        self.lookahead = lookahead

    def begin(self, view: View) -> None:
        """Start a round."""

    def stops(self, seen: float) -> bool:
        """Whether to stop after the token just drafted. The token stays in the draft either way."""
        return False

    def propose(self, view: View) -> Asking:
        self.begin(view)
        for _ in range(self.lookahead):
            if self.stops((yield STEP)):
                return "rule"
        return "limit"


class Match(NamedTuple):
    """The context that a token was copied by."""

    length: int  # tokens of the context
    times: int  # how often this token followed it
    total: int  # how often any token did


Judges = Callable[[Match, int], float]  # estimates a copied token from its match and the number of tokens before it


class Copying(Source):
    """Copies from the text. No model runs."""

    copies = True

    @abstractmethod
    def copied(self) -> Sequence[int]:
        """Return the tokens that may follow, at most `lookahead`; none if nothing in the text suggests any."""

    def propose(self, view: View) -> Asking:
        self.follow(view.text)
        found = self.copied()
        tokens = view.usable(found)
        if tokens:
            yield Copy(tokens)
        if len(tokens) == self.lookahead:
            return "limit"
        if len(tokens) == len(found):
            return "match"
        return "length" if len(tokens) == view.room else "eos"


# ---- what a source is given


class Judging(Protocol):
    """A classifier's judge of copied tokens."""

    @property
    def threshold(self) -> float: ...
    def __call__(self, match: Match, ahead: int) -> float: ...


class Thresholds(Protocol):
    """A classifier, as far as a source asks it."""

    def tuned(self, rule: str) -> float:
        """Return the threshold at which this rule is best."""
        ...


@dataclass(frozen=True)
class Given:
    """Parts that a source may use besides its parameters."""

    memory: dict[str, Any] = field(default_factory=dict)  # shared by all texts of a run
    classifier: Thresholds | None = None
    judge: Judging | None = None

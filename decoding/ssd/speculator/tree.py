"""Which outcomes of a verification the next drafts are prepared for: the first step of a preparation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from decoding.runner import Branches, align
from decoding.ssd.policy.fanout import Placed
from decoding.ssd.speculator.drawing import Branch, Drawing, Drawn
from decoding.ssd.speculator.state import Given, Side


class Tree:
    def __init__(
        self, fork: Branches, branches: Sequence[Branch], most: int, is_room_behind: bool, drawing: Drawing
    ) -> None:
        """`most` is the depth that is wanted and has room; `is_room_behind` says whether the draft could read on."""
        self.branches = branches
        self._most = most
        self._is_room_behind = is_room_behind
        self._fork = fork
        self._drawing = drawing
        self._drawn: list[Drawn] = []  # per step [B, V]
        self._last: Tensor | None = None  # logits [B, V] after the last token of branches that have come to the end
        self._row_of = {(b.accepted, b.token): row for row, b in enumerate(self.branches)}

    @property
    def depth(self) -> int:
        return len(self._drawn)

    @property
    def is_done(self) -> bool:
        return self.depth == self._most or all(branch.stop for branch in self.branches)

    @property
    def can_round_off(self) -> bool:
        return self.depth == self._most and self._last is None and self._is_room_behind

    def step(self) -> None:
        """Draft one more token in every branch. The row of a branch that has stopped goes on unseen: rows are cheap,
        passes of another shape are not."""
        self._drawn.append(self._drawing.each(self.branches, self._read(), self._most))

    def round_off(self) -> None:
        """Read the last tokens too. Whichever branch wins, its next preparation opens without a pass."""
        self._last = self._read()

    def find(self, accepted: int, token: int) -> int | None:
        """The row that was prepared for this outcome, if one was and has come to a first token."""
        return self._row_of.get((accepted, token)) if self._drawn else None

    def steps(self, count: int) -> list[Drawn]:
        """The first ones, as far as the branches have come: [B, V] each."""
        return self._drawn[:count]

    def last(self, row: int) -> Tensor | None:
        """Logits [1, V] after all of a branch's tokens, if they were rounded off."""
        return None if self._last is None else self._last[row : row + 1]

    def adopt(self, row: int) -> None:
        """Make this branch what the runner's text goes on with: a copy, no pass."""
        self._fork.adopt(row)

    def _read(self) -> Tensor:
        return self._fork.extend([branch.ahead[-1] for branch in self.branches])


def open_branches(side: Side, given: Given) -> tuple[Placed, Tree | None]:
    """Bring the cache to the end of the draft that was given, and open a branch for each outcome chosen. No tree where
    there is none."""
    side.take_in()
    _read_on(side, given)
    side.find_best(given)
    side.estimate(given)
    tokens = given.draft.tokens
    given.ranked = [_guesses(side, given, k) for k in range(len(tokens) + 1)]
    if side.drawing.estimator:
        given.heard = side.heard(tokens)
        given.echoed = [_echo_first(side, given, k) for k in range(len(tokens) + 1)]
    placed = side.planner.place(given.draft, _estimates(side, given), given.ranked, given.echoed)
    if not placed.outcomes:
        return placed, None
    side.drawing.guesses = side.planner.guesses
    lengths = [len(side.text) + k for k, _ in placed.outcomes]
    behind = side.runner.context - max(lengths)
    most = min(side.settings.lookahead, given.limit - 1, behind)
    branches = [Branch(accepted=k, token=token, ahead=[*tokens[:k], token]) for k, token in placed.outcomes]
    return placed, Tree(side.runner.fork(lengths), branches, most, most < behind, side.drawing)


def _read_on(side: Side, given: Given) -> None:
    """Have a row after the text and after each drafted token. Those that tokens were drawn from are there; the one
    after the last may have been read when the branch was rounded off."""
    tokens = given.draft.tokens
    aheads = [tokens[:i] for i in range(len(tokens) + 1)]
    rows = given.look()
    missing = aheads[len(rows) :]
    if not missing:
        return
    logits = given.last
    if logits is None:
        logits = side.runner.extend(align(side.runner, [*side.text, *tokens], len(missing)), len(missing))
    drawn = side.drawing.rows(logits, missing)
    rows += [drawn.row(i) for i in range(len(missing))]


def _guesses(side: Side, given: Given, accepted: int) -> list[int]:
    """The target's likeliest tokens after so many accepted ones. It never refuses a token to say it after all, and
    after an end token there is no next draft; nor is there one without room."""
    tokens = given.draft.tokens
    is_over = accepted > 0 and tokens[accepted - 1] in side.end_tokens
    if is_over or accepted + 1 >= given.limit or len(side.text) + accepted >= side.runner.context:
        return []
    refused = tokens[accepted : accepted + 1]
    return [
        token
        for token, liking in zip(*given.best[accepted], strict=True)
        if token not in refused and token not in side.end_tokens and liking > -math.inf
    ]


def _echo_first(side: Side, given: Given, accepted: int) -> int:
    """Put what the text said here before in front of what is guessed in place of the draft's favourite; returns the
    length of the context that says so, 0 if none does."""
    tokens, ranked, echoes = given.draft.tokens, given.ranked[accepted], given.heard[accepted]
    is_whole = accepted == len(tokens)
    echo = echoes.next()
    favourite = (ranked[0] if ranked else None) if is_whole else tokens[accepted]
    if echo is None or not ranked or echo == favourite or echo in side.end_tokens or echo >= side.dice.vocab:
        return 0
    if echo in ranked:
        ranked.remove(echo)
    ranked.insert(is_whole, echo)
    return max(length for length, said in enumerate(echoes.of(echo), start=1) if said > 0)


def _estimates(side: Side, given: Given) -> Sequence[float]:
    """The classifier's word for each token, and for the likeliest one after all of them; nothing without one."""
    estimator, chain = side.drawing.estimator, given.chain
    if estimator is None:
        return ()
    (favourites, likings), row = given.best[len(chain.tokens)], given.rows[len(chain.tokens)]
    echoes = given.heard[len(chain.tokens)]
    next_one, _ = estimator.one(chain, row.scores, row.liked, favourites[0], echoes, likings)
    return [*chain.estimates, next_one]

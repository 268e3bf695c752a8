"""One preparation: open branches for likely outcomes, then draft one token for each of them in every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.models.runner import Feed, ModelRunner, Steps, TreePass, align
from decoding.ssd.policy.ssd_policy import echo_of
from decoding.ssd.speculator.drawing import Branch, Drawing, DrawnRows
from decoding.ssd.speculator.state import CurrentDraft, SpeculatorState


class BranchTree:
    def __init__(
        self,
        runner: ModelRunner,
        lengths: Sequence[int],
        branches: Sequence[Branch],
        most: int,
        is_room_behind: bool,
        drawing: Drawing,
    ) -> None:
        """`lengths` are those of the texts before the branches. `most` is the wanted depth for which there is room;
        `is_room_behind` says whether the model could read on."""
        self.branches = branches
        self._grown = runner.grow()
        end = len(runner.tokens) + 1
        self._parents: Sequence[int] = [length - end for length in lengths]
        self._rows = 0  # of the grown tree: a branch has one in each step
        self._most = most
        self._is_room_behind = is_room_behind
        self._drawing = drawing
        self._drawn: list[DrawnRows] = []  # per step [B, V]
        self._last: Tensor | None = None  # logits [B, V] after the last tokens of finished branches
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

    def step(self) -> Steps[None]:
        """Draft one more token in every branch. A branch that has stopped keeps its row: rows are cheap, passes of
        another shape are not."""
        self._drawn.append(self._drawing.each(self.branches, (yield self._next()), self._most))

    def round_off(self) -> Steps[None]:
        """Read the last tokens too. The next preparation of any winner then opens without a pass."""
        self._last = yield self._next()

    def find(self, accepted: int, token: int) -> int | None:
        """The row of the branch for this outcome, if there is one and it has a first token."""
        return self._row_of.get((accepted, token)) if self._drawn else None

    def steps(self, count: int) -> list[DrawnRows]:
        """Rows [B, V] of the first steps, as far as the branches have come."""
        return self._drawn[:count]

    def last(self, row: int) -> Tensor | None:
        """Logits [1, V] after all tokens of a branch, if it was rounded off."""
        return None if self._last is None else self._last[row : row + 1]

    def adopt(self, row: int) -> None:
        """Continue the runner's text with this branch: a copy, no pass."""
        self._grown.adopt(range(row, self._rows, len(self.branches)))

    def _next(self) -> Feed:
        count, parents, first = len(self.branches), self._parents, self._rows
        self._rows += count
        self._parents = range(first, self._rows)
        return TreePass(self._grown, parents), [branch.ahead[-1] for branch in self.branches], count


def choose_outcomes(state: SpeculatorState, current: CurrentDraft) -> Steps[ChosenOutcomes]:
    """Bring the cache to the end of the current draft, and choose the outcomes to prepare for."""
    state.learn()
    yield from _read_on(state, current)
    state.find_best(current)
    state.estimate(current)
    return _choose(state, current)


def open_tree(state: SpeculatorState, current: CurrentDraft, chosen: ChosenOutcomes) -> BranchTree | None:
    """Open a branch for each chosen outcome. No tree if none is chosen."""
    if not chosen.outcomes:
        return None
    tokens = current.draft.tokens
    state.drawing.guesses = state.policy.planner.guesses_by_position
    lengths = [len(state.text) + k for k, _ in chosen.outcomes]
    behind = state.runner.context - max(lengths)
    most = state.policy.room(current.limit - 1, behind)
    branches = [Branch(accepted=k, token=token, ahead=[*tokens[:k], token]) for k, token in chosen.outcomes]
    return BranchTree(state.runner, lengths, branches, most, most < behind, state.drawing)


def _read_on(state: SpeculatorState, current: CurrentDraft) -> Steps[None]:
    """Complete the rows after the text and after each drafted token. Those that tokens were drawn from are known; the
    one after the last token is known if its branch was rounded off."""
    tokens = current.draft.tokens
    aheads = [tokens[:i] for i in range(len(tokens) + 1)]
    rows = current.rows.cut()
    missing = aheads[len(rows) :]
    if not missing:
        return
    logits = current.rows.last
    if logits is None:
        logits = yield state.runner, align(state.runner, [*state.text, *tokens], len(missing)), len(missing)
    drawn = state.drawing.rows(logits, missing)
    rows += [drawn.row(i) for i in range(len(missing))]


def _choose(state: SpeculatorState, current: CurrentDraft) -> ChosenOutcomes:
    """Have the policy choose outcomes, from what the draft prefers after each accepted count."""
    draft, policy = current.draft, state.policy
    guesses = [_guesses(state, current, k) for k in range(len(draft.tokens) + 1)]
    if state.drawing.estimator is None:
        return policy.choose(draft, (), guesses)
    echoes = state.echoes_along(draft.tokens)
    lengths = []
    for drafted, listed, after in zip((*draft.tokens, None), guesses, echoes, strict=True):
        echo, length = echo_of(after)
        is_known = echo is not None and echo < state.dice.vocab
        lengths.append(length if is_known and policy.put_echo_first(listed, echo, drafted) else 0)
    row = current.rows.known[len(draft.tokens)]
    (favourite, *_), values = current.rows.best[len(draft.tokens)]
    _, bonus, _ = state.drawing.estimator.one(current.chain, row.scores, row.preferences, favourite, echoes[-1], values)
    return policy.choose(draft, [*current.chain.chances, bonus], guesses, lengths)


def _guesses(state: SpeculatorState, current: CurrentDraft, accepted: int) -> list[int]:
    """The target's likeliest tokens after so many accepted ones. None after an end token, or without room."""
    tokens = current.draft.tokens
    is_over = accepted > 0 and tokens[accepted - 1] in state.end_tokens
    if is_over or accepted + 1 >= current.limit or len(state.text) + accepted >= state.runner.context:
        return []
    best, preferences = current.rows.best[accepted]
    possible = [token for token, value in zip(best, preferences, strict=True) if value > -math.inf]
    return state.policy.guessable(possible, tokens[accepted] if accepted < len(tokens) else None)

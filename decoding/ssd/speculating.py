"""The draft's side of one sample: answer the verdict first, then prepare drafts for the outcomes that may come next.

Whoever drives it decides how long it may prepare: in turn, until nothing is worth more; beside the target, until the
next verdict is there. It sees nothing of the target but verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.drafters.base import Draft
from decoding.runner import ModelRunner
from decoding.ssd import answering
from decoding.ssd.board import Ready
from decoding.ssd.given import Given
from decoding.ssd.opening import open_branches
from decoding.ssd.prepared import NOTHING, Prepared
from decoding.ssd.settings import Settings
from decoding.ssd.side import Side
from decoding.ssd.tree import Tree


class Speculator:
    def __init__(
        self,
        runner: ModelRunner,
        dice: Dice,
        settings: Settings,
        end_tokens: Collection[int] = frozenset(),
        classifier: Classifier | None = None,
    ) -> None:
        """`dice` are its own: it commits to them what the verdicts say. A classifier makes it `ssd-disco`."""
        self._side = Side(runner, dice, settings, end_tokens, classifier)
        self._given = Given()
        self._tree: Tree | None = None
        self._ended: tuple[Prepared, Tree | None, int] = (NOTHING, None, 0)  # the preparation before
        self._shown = 0  # depth of the branches when they were last looked through for what is ready
        self._is_open = True  # whether branches were opened, or had no reason to be, since the last answer
        self._prepared = NOTHING

    def read(self, text: Sequence[int]) -> None:
        """Read the prompt, so that `begin` starts warm."""
        self._side.read(text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        """The first draft. Reads the prompt if `read` has not."""
        if self._side.text != list(text):
            self.read(text)
        room = self._side.room(limit)
        return self._give(answering.alone(self._side, room, "fresh") if room > 0 else Given(), limit)

    def answer(self, accepted: int, token: int, limit: int, asked: int | None = None) -> Draft:
        """The verdict on the last draft; returns the next one, of at most `limit` tokens. `asked` says when the
        verdict was there, where that is known to be earlier than it is noticed."""
        row = self._judged(accepted, token, asked)
        room = self._side.room(limit)
        if self._tree and row is not None and room > 0:
            given = answering.after_a_hit(self._side, self._tree, row, room)
            if given.is_adopted:
                self._tree = None
            return self._give(given, limit)
        self._side.take_in()
        self._tree = None
        return self._give(answering.after_a_miss(self._side, room) if room > 0 else Given(), limit)

    def ready(self) -> Sequence[Ready]:
        """What may be taken for a verdict that comes now, without asking; each time that there is more of it, once."""
        if self._tree is None or self._tree.depth == self._shown:
            return ()
        self._shown = self._tree.depth
        return answering.ready(self._side, self._tree, self._given)

    def take(self, accepted: int, token: int, limit: int, count: int, asked: int) -> Draft:
        """The verdict of a target that has taken so many tokens of what was ready for it."""
        row = self._judged(accepted, token, asked)
        assert self._tree is not None and row is not None
        return self._give(answering.taken(self._side, self._tree, row, count), limit, asked)

    def estimate(self) -> tuple[float, ...]:
        """The classifier's word for each token of the last draft. After a hit it is asked only now."""
        self._side.estimate(self._given)
        return tuple(self._given.chain.estimates)

    def step(self) -> bool:
        """One step of preparing. False when nothing is worth preparing any more."""
        if not self._is_open:
            self._do(self._open)
        elif self._tree and not self._tree.is_done:
            self._deepen(self._tree.step)
        else:
            return False
        return True

    def step_beside(self) -> bool:
        """The same while the target verifies. Once the branches have some depth, a step that the verdict would
        interrupt is put off until the verdict is overdue: nothing happens then, and True. When all are as deep as they
        shall be, their last tokens are read too, if time is left."""
        tree = self._tree
        if not self._is_open or tree is None or not tree.depth:
            return self.step()
        if tree.is_done and not tree.can_round_off:
            return False
        use = 0.0 if tree.is_done else self._side.use_of_a_step(tree.depth)
        if not self._side.pace.interrupts(len(self._given.draft.tokens), use):
            self._deepen(tree.round_off if tree.is_done else tree.step)
        return True

    def prepared(self) -> Prepared:
        """What has been prepared since the last answer."""
        return _told(self._prepared, self._tree, time.perf_counter_ns())

    def prepared_before(self) -> Prepared:
        """What had been when the last answer was asked for: for those who want it out first."""
        return _told(*self._ended)

    def _judged(self, accepted: int, token: int, asked: int | None) -> int | None:
        """A verdict; returns the branch that was prepared for it."""
        self._ended = self._prepared, self._tree, time.perf_counter_ns()
        if not self._is_open:
            self._adopt()  # the verdict was earlier than any step: the branches there are those of before
        row = self._tree.find(accepted, token) if self._tree else None
        self._side.take_in()
        self._side.judged(self._given, accepted, token, asked)
        return row

    def _give(self, given: Given, limit: int, at: int | None = None) -> Draft:
        given.limit = limit
        self._given = given
        self._prepared = NOTHING
        self._is_open = not given.draft.tokens
        self._shown = 0
        self._side.pace.gave(at)
        return given.draft

    def _adopt(self) -> None:
        answering.adopt(self._given, self._tree)
        self._tree = None

    def _open(self) -> None:
        self._is_open = True
        self._adopt()
        placed, self._tree = open_branches(self._side, self._given)
        self._prepared = self._prepared._replace(predicted_hit=placed.predicted_hit, fanout=placed.fanout)

    def _deepen(self, step: Callable[[], None]) -> None:
        self._side.pace.stepped(self._do(step))

    def _do(self, work: Callable[[], None]) -> int:
        """Returns how many ns it took."""
        began = time.perf_counter_ns()
        work()
        ended = time.perf_counter_ns()
        self._prepared = self._prepared.after(began, ended)
        return ended - began


def _told(found: Prepared, tree: Tree | None, until: int) -> Prepared:
    if not found.passes:
        return found
    branches = tuple((b.accepted, b.token, len(b.tokens)) for b in (tree.branches if tree else ()) if b.tokens)
    return found._replace(branches=branches, idle_ns=until - found.end_ns)

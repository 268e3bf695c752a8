"""The draft side of one sample: answer the verdict first, then prepare drafts for the outcomes that may come next.

The exchange decides how long the speculator may prepare: in turn, until nothing is worth more; beside the target,
until the next verdict is there. The speculator sees nothing of the target but verdicts. Its passes are steps that other
texts may share.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from decoding.core.batch_state import BatchState
from decoding.core.drafter import Draft
from decoding.dice.dice import Dice
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.models.runner import ModelRunner, Result, Steps
from decoding.ssd.policy.together import RowBudget
from decoding.ssd.speculator import answering
from decoding.ssd.speculator.answering import Ready
from decoding.ssd.speculator.state import CurrentDraft, SpeculatorState
from decoding.ssd.speculator.tree import BranchTree, choose_outcomes, open_tree


class Preparation(NamedTuple):
    """Work on branches since the last answer. Times are `time.perf_counter_ns()`, which all processes share."""

    branches: tuple[tuple[int, int, int], ...] = ()  # (accepted count, the target's token, depth reached)
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()  # entry k: how many branches for k accepted
    rows: int = 0  # branches in each pass, of all texts that share it
    passes: int = 0  # opening the branches counts as one, whether or not the model had to run for it
    busy_ns: int = 0
    opening_ns: int = 0  # of that, the first pass: it brings the cache up to date and opens the branches
    start_ns: int = 0
    end_ns: int = 0
    idle_ns: int = 0  # from then until now

    def after(self, began_ns: int, ended_ns: int) -> Preparation:
        """Add a pass."""
        return self._replace(
            passes=self.passes + 1,
            busy_ns=self.busy_ns + ended_ns - began_ns,
            opening_ns=self.opening_ns or ended_ns - began_ns,
            start_ns=self.start_ns or began_ns,
            end_ns=ended_ns,
        )

    def opened(self, began_ns: int, ended_ns: int) -> Preparation:
        """Add the time of opening branches to the first pass."""
        took_ns = ended_ns - began_ns
        return self._replace(busy_ns=self.busy_ns + took_ns, opening_ns=self.opening_ns + took_ns, end_ns=ended_ns)


NOTHING = Preparation()


class Speculator:
    def __init__(
        self,
        runner: ModelRunner,
        dice: Dice,
        settings: SpeculatorSettings,
        end_tokens: Collection[int] = frozenset(),
        classifier: DraftClassifier | None = None,
    ) -> None:
        """The speculator commits verdicts to `dice`, so nobody else may use them. A classifier makes it `ssd-disco`."""
        self._state = SpeculatorState(runner, dice, settings, end_tokens, classifier)
        self._current = CurrentDraft()
        self._tree: BranchTree | None = None
        self.last_preparation = NOTHING  # before the last answer
        self._posted_depth = 0  # depth of the branches when `ready` last returned them
        self._is_open = True  # whether branches were opened, or had no reason to be, since the last answer
        self._preparation = NOTHING
        self._rows = 0  # of a pass that prepares, over all texts

    @property
    def budget(self) -> RowBudget:
        """Rows for branches, which texts that are decoded together share."""
        return self._state.policy.budget

    def read(self, text: Sequence[int]) -> None:
        """Read the prompt, so that `beginning` starts warm."""
        self._state.read(text)

    def join(self, batch: BatchState, hides: bool) -> None:
        """Learn with the texts of a batch. `hides` says whether the draft prepares while the target verifies."""
        self._state.policy.join(batch, hides)

    def beginning(self, text: Sequence[int], limit: int) -> Steps[Draft]:
        """Make the first draft. Reads the prompt if `read` has not."""
        if self._state.text != list(text):
            self.read(text)
        room = self._state.room(limit)
        made = (yield from answering.draft_on_request(self._state, room, "fresh")) if room > 0 else CurrentDraft()
        return self._give(made, limit)

    def answering(self, accepted: int, token: int, limit: int, asked_at_ns: int) -> Steps[Draft]:
        """Take the verdict on the last draft and return the next one, of at most `limit` tokens. `asked_at_ns` is the
        time of the question."""
        row = self._take_verdict(accepted, token, asked_at_ns)
        room = self._state.room(limit)
        if self._tree and row is not None and room > 0:
            current = yield from answering.after_a_hit(self._state, self._tree, row, room)
            if current.unadopted is None:
                self._tree = None
            return self._give(current, limit)
        self._state.learn()
        self._tree = None
        made = (yield from answering.after_a_miss(self._state, room)) if room > 0 else CurrentDraft()
        return self._give(made, limit)

    def ready(self) -> Sequence[Ready]:
        """Drafts that the target may take without asking, if the verdict comes now. Once for each depth."""
        if self._tree is None or self._tree.depth == self._posted_depth:
            return ()
        self._posted_depth = self._tree.depth
        return answering.ready(self._state, self._tree, self._current)

    def take(self, accepted: int, token: int, limit: int, count: int, asked_at_ns: int) -> Draft:
        """Take the verdict of a target that took so many tokens of what was ready for it."""
        row = self._take_verdict(accepted, token, asked_at_ns)
        assert self._tree is not None and row is not None
        return self._give(answering.taken(self._state, self._tree, row, count), limit)

    def note_draft(self, at_ns: int | None) -> None:
        """Note that the target got the draft: now, or at `at_ns`."""
        self._state.policy.pace.note_draft(at_ns)

    def estimate(self) -> tuple[float, ...]:
        """The classifier's estimate of each token of the last draft. After a hit it is asked only now."""
        self._state.estimate(self._current)
        return tuple(self._current.chain.estimates)

    def opening(self) -> Steps[ChosenOutcomes]:
        """Choose the outcomes to prepare for."""
        if self._is_open:
            return ChosenOutcomes()
        self._is_open = True
        self._adopt()
        return (yield from self._do(choose_outcomes(self._state, self._current)))

    def branch(self, chosen: ChosenOutcomes, rows: int) -> None:
        """Open a branch for each of these outcomes, in passes of so many rows."""
        began_ns, self._rows = time.perf_counter_ns(), rows
        self._tree = open_tree(self._state, self._current, chosen)
        opened = self._preparation.opened(began_ns, time.perf_counter_ns())
        self._preparation = opened._replace(predicted_hit=chosen.predicted_hit, fanout=chosen.fanout, rows=rows)

    @property
    def has_more(self) -> bool:
        """Whether a step is left, once branches are open. Beside the target, the last one reads the branches' last
        tokens."""
        tree = self._tree
        if tree is None or not tree.is_done:
            return tree is not None
        return self.budget.hides and bool(tree.depth and tree.can_round_off)

    @property
    def puts_off_step(self) -> bool:
        """Whether to wait for the verdict instead of taking a step."""
        assert self._tree
        tree, drafted = self._tree, len(self._current.draft.tokens)
        return self.budget.hides and self._state.policy.puts_off_step(drafted, tree.depth, tree.is_done)

    def deepening(self) -> Steps[None]:
        """Take a step: one more token in every branch."""
        assert self._tree
        before_ns = self._preparation.busy_ns
        yield from self._do(self._tree.round_off() if self._tree.is_done else self._tree.step())
        self._state.policy.note_step(self._rows, self._preparation.busy_ns - before_ns)

    def preparation(self) -> Preparation:
        """The preparation since the last answer."""
        found = self._preparation
        if not found.passes:
            return found
        branches = tuple((b.accepted, b.token, len(b.tokens)) for b in (self._tree.branches if self._tree else ()))
        return found._replace(
            branches=tuple(branch for branch in branches if branch[2]),
            idle_ns=time.perf_counter_ns() - found.end_ns,
            # In turn the target waits for all of it, also between passes that texts share.
            busy_ns=found.busy_ns if self.budget.hides else found.end_ns - found.start_ns,
        )

    def _take_verdict(self, accepted: int, token: int, asked_at_ns: int) -> int | None:
        """Note a verdict. Returns the row of the branch that was prepared for it."""
        self.last_preparation = self.preparation()
        if drafted := len(self._current.draft.tokens):
            opened_ns = self._preparation.start_ns + self._preparation.opening_ns
            self.budget.breadth.note_round(drafted, asked_at_ns - (opened_ns or asked_at_ns))
        if not self._is_open:
            self._adopt()  # the verdict came before any step: these branches are of the round before
        row = self._tree.find(accepted, token) if self._tree else None
        self._state.learn()
        self._state.note_verdict(self._current, accepted, token, asked_at_ns)
        return row

    def _give(self, current: CurrentDraft, limit: int) -> Draft:
        current.limit = limit
        self._current = current
        self._preparation = NOTHING
        self._is_open = not current.draft.tokens
        self._posted_depth = 0
        return current.draft

    def _adopt(self) -> None:
        answering.adopt(self._current, self._tree)
        self._tree = None

    def _do(self, work: Steps[Result]) -> Steps[Result]:
        """Do the work, and note how long it took."""
        began_ns = time.perf_counter_ns()
        result = yield from work
        ended_ns = time.perf_counter_ns()
        self._preparation = self._preparation.after(began_ns, ended_ns)
        return result

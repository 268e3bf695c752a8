"""The draft side of one text: answer the verdict first, then prepare drafts for the outcomes that may come next.

The exchange decides how long the speculator may prepare: in turn, until nothing is worth more; beside the target,
until the next verdict is there. The speculator sees nothing of the target but verdicts. Its passes are steps that other
texts may share.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from torch import Tensor

from decoding.choice import Choice
from decoding.core.batch_state import BatchState
from decoding.dice import chance
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.dice.verify import Draft
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.drafting.tree_shapes import RANKS
from decoding.errors import DrafthouseError
from decoding.models.runner import Feed, Feeds, ModelRunner, Result, TreePass, read_prompt, rewind_to
from decoding.ssd.policy.ssd_policy import Plan, SsdPolicy, TokenPrices
from decoding.ssd.speculator.drawing import Branch, CurrentDraft, DraftedChain, Drawing, DrawnRows, Estimator
from decoding.trace.events import Backup, Origin, StopReason

RECENT = 4  # last tokens of the text that identify a position for random tokens, with its length


class BranchTree:
    """One preparation: open branches for likely outcomes, then draft one token for each of them in every step."""

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

    def step(self) -> Feeds[None]:
        """Draft one more token in every branch. A branch that has stopped keeps its row: rows are cheap, passes of
        another shape are not."""
        self._drawn.append(self._drawing.each(self.branches, (yield self._next()), self._most))

    def round_off(self) -> Feeds[None]:
        """Read the last tokens too. The next preparation of any winner then opens without a pass."""
        self._last = yield self._next()

    def find(self, accepted: int, token: int) -> int | None:
        """The row of the branch for this outcome, if there is one and it has a first token."""
        return self._row_of.get((accepted, token)) if self._drawn else None

    def won(self, row: int, room: int, lookahead: int) -> CurrentDraft:
        """Return a branch as a draft of at most so many tokens."""
        chain = self.branches[row].cut(room, lookahead)
        count = len(chain.tokens)
        last = self._last[row : row + 1] if self._last is not None and count == self.depth else None
        rows = [step.row(row) for step in self._drawn[: count + 1]]
        return CurrentDraft(chain=chain, rows=rows, branch=row, last=last)

    def adopt(self, row: int) -> None:
        """Continue the runner's text with this branch: a copy, no pass."""
        self._grown.adopt(range(row, self._rows, len(self.branches)))

    def _next(self) -> Feed:
        count, parents, first = len(self.branches), self._parents, self._rows
        self._rows += count
        self._parents = range(first, self._rows)
        return TreePass(self._grown, parents), [branch.ahead[-1] for branch in self.branches], count


@dataclass(frozen=True)
class SpeculatorRecipe:
    """All that a sample's speculator is made of, except the model. It travels to the process that drafts."""

    settings: SpeculatorSettings
    sampling: Sampling
    vocab: int
    seed: int
    end_tokens: Collection[int]
    classifier: DraftClassifier | None = None  # with one it is `ssd-disco`
    is_joint: bool = False  # whether other texts are decoded together with this one

    @property
    def sends_scores(self) -> bool:
        """Whether the verdict needs the scores that the draft drew from."""
        return not self.sampling.fixes_the_text

    @property
    def kind(self) -> Hashable:
        """Samples of the same kind learn together."""
        return self.settings, self.sampling, self.classifier is None, self.is_joint


class Question(NamedTuple):
    """One text's question: its verdict, and the room for the next draft."""

    text: int  # its number
    accepted: int | None  # None: it begins
    token: int
    limit: int
    taken: int = 0  # tokens that the target took of what was ready; then it needs no answer


class Ready(NamedTuple):
    """A draft that the target may take without asking, if this is the verdict."""

    accepted: int
    token: int
    tokens: Sequence[int]
    stop: StopReason


class Preparation(NamedTuple):
    """Work on branches since the last answer. Times are `time.perf_counter_ns()`, which all processes share."""

    branches: tuple[tuple[int, int, int], ...] = ()  # (accepted count, the target's token, depth reached)
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()  # entry k: how many branches for k accepted
    pass_rows: int = 0  # branches in each pass, of all texts that share it
    passes: int = 0  # opening the branches counts as one, whether or not the model had to run for it
    busy_ns: int = 0
    opening_ns: int = 0  # of that, the first pass: it brings the cache up to date and opens the branches
    start_ns: int = 0
    end_ns: int = 0
    idle_ns: int = 0  # from then until now


NOTHING = Preparation()


class Postscript(NamedTuple):
    """Facts about a draft that are known only after it was sent, and the preparation before it."""

    confidence: tuple[float, ...] = ()
    estimate: tuple[float, ...] = ()
    preparation: Preparation = NOTHING


class _Verdict(NamedTuple):
    """A verdict from which nothing has been learnt yet."""

    current: CurrentDraft  # that was judged
    accepted: int
    fresh: list[int]  # the text that it added
    took_ns: int  # from the draft to the next question


class Speculator:
    def __init__(self, recipe: SpeculatorRecipe, runner: ModelRunner, batch: BatchState, hides: bool) -> None:
        """`hides` says whether the draft prepares while the target verifies: it learns with the texts of a batch. Its
        dice, from the sample's seed, are its own."""
        settings, classifier = recipe.settings, recipe.classifier
        self.recipe, self.runner, self.batch = recipe, runner, batch
        self.dice = dice_for(recipe.sampling, recipe.vocab, recipe.seed)
        plan = plan_for(settings, recipe.vocab, classifier)
        self.policy = SsdPolicy(plan, recipe.end_tokens, recipe.seed, batch=batch, hides=hides)
        # Where the dice fix the text, Saguaro sampling would only cost; a classifier's branches follow no list.
        constant = 1.0 if classifier or recipe.sampling.fixes_the_text else settings.constant
        estimator = Estimator(classifier, self.policy.recalibration.corrected) if classifier else None
        price = self.policy.prices.waiting
        self._drawing = Drawing(self.dice, recipe.end_tokens, settings.lookahead, price, constant, estimator=estimator)
        self._text = self.policy.text  # the same list
        self.error: DrafthouseError | None = None  # why this text gets no more drafts
        self.chosen = ChosenOutcomes()
        self._unlearnt: _Verdict | None = None
        self._current = CurrentDraft()
        self._tree: BranchTree | None = None
        self._last_preparation = NOTHING  # before the last answer
        self._preparation = NOTHING
        self._posted_depth = 0  # depth of the branches when `ready` last returned them
        self._is_open = True  # whether branches were opened, or had no reason to be, since the last answer
        self._rows = 0  # of a pass that prepares, over all texts

    @property
    def draft(self) -> Draft:
        """The draft that is with the target."""
        return self._current.draft

    @property
    def answer(self) -> tuple[Draft | DrafthouseError, Tensor | None]:
        """The draft, or why there is none, and the scores that the verdict needs."""
        return self.error or self.draft, None if self.error or not self.recipe.sends_scores else self.draft.scores

    def read(self, prompt: Sequence[int]) -> None:
        """Read the prompt, so that the first draft starts warm."""
        self.policy.read(prompt)
        self.dice.commit(prompt)
        if len(prompt) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, prompt)

    def guarded(self, steps: Feeds[None]) -> Feeds[None]:
        """Take the steps. An error ends this text alone."""
        if self.error:
            return
        try:
            yield from steps
        except DrafthouseError as error:
            self.error = error

    # The answer to a verdict ------------------------------------------------------------------------------------------

    def answering(self, asked: Question, at_ns: int) -> Feeds[None]:
        """Take the verdict on the last draft and make the next one: that of the branch that won, or one for which the
        target waits. `at_ns` is the time of the question."""
        row = self._take_verdict(asked, at_ns)
        room = self._room(asked.limit)
        if self._tree and row is not None and room > 0:
            current = yield from self._after_a_hit(self._tree, row, room, asked.taken)
        else:
            self._learn()
            self._tree, current = None, CurrentDraft()
            if room > 0:
                current = yield from self._anew(room, is_first=asked.accepted is None)
        current.limit = asked.limit
        self._current, self._preparation = current, NOTHING
        self._is_open = not current.draft.tokens
        self._posted_depth = 0

    def ready(self) -> Sequence[Ready]:
        """Drafts that the target may take without asking, if the verdict comes now. Once for each depth, and none where
        more tokens or fewer might be worth the target's wait. A verdict by scores needs them, so there it asks."""
        tree, lookahead = self._tree, self.policy.lookahead
        if self.error or self.recipe.sends_scores or tree is None or tree.depth == self._posted_depth:
            return ()
        self._posted_depth = tree.depth
        found = []
        for branch in tree.branches if self.policy.is_final(tree.depth, tree.is_done) else ():
            room = self._room(self._current.limit - branch.accepted - 1, branch.accepted + 1)
            if room > 0:
                stop = branch.stop_in(room, lookahead) or "early"
                found.append(Ready(branch.accepted, branch.token, branch.tokens[:room], stop))
        return found

    def postscript(self) -> Postscript:
        if self.error:
            return Postscript()
        return Postscript(self.draft.confidence, self.estimate(), self._last_preparation)

    def estimate(self) -> tuple[float, ...]:
        """The classifier's estimate of each token of the last draft. After a hit it is asked only now."""
        return tuple(self._estimate(self._current).estimates)

    def _room(self, limit: int, ahead: int = 0) -> int:
        """Room for a draft that begins so many tokens behind the text."""
        return self.policy.room(limit, self.runner.context - len(self._text) - ahead)

    def _take_verdict(self, asked: Question, at_ns: int) -> int | None:
        """Add what the verdict says to the text: the speculator learns from it when it has time, or must. Return the
        row of the branch that was prepared for it."""
        if asked.accepted is None:
            return None
        self._last_preparation, current = self.preparation(), self._current
        if drafted := len(current.draft.tokens):
            opened_ns = self._preparation.start_ns + self._preparation.opening_ns
            self.policy.budget.breadth.note_round(drafted, at_ns - (opened_ns or at_ns))
        if not self._is_open:
            self._adopt(current)  # the verdict came before any step: these branches are of the round before
        row = self._tree.find(asked.accepted, asked.token) if self._tree else None
        self._learn()
        fresh = [*current.draft.tokens[: asked.accepted], asked.token]
        self._text += fresh
        self._unlearnt = _Verdict(current, asked.accepted, fresh, self.policy.pace.elapsed_ns(at_ns))
        return row

    def _learn(self) -> None:
        """Learn from the last verdict. After a hit that can wait until the answer is sent."""
        if self._unlearnt is None:
            return
        verdict, self._unlearnt = self._unlearnt, None
        draft, fresh = verdict.current.draft, verdict.fresh
        self.policy.learn_round(draft, verdict.accepted, fresh, verdict.took_ns)
        self.policy.learn_outcome(draft, verdict.accepted, fresh[-1], verdict.current.chain.estimates)
        self.dice.commit(fresh)

    def _after_a_hit(self, tree: BranchTree, row: int, room: int, taken: int) -> Feeds[CurrentDraft]:
        """Return the branch as far as it has come, or as many of its tokens as the target took. If the verdict was
        early, the branch may go on alone."""
        branch, policy = tree.branches[row], self.policy
        current = tree.won(row, taken or room, policy.lookahead)
        chain = current.chain
        if not taken and policy.is_long(len(chain.tokens)):
            self._estimate(current)
            chain.shorten(policy.prices.beside)
        if not taken and chain.stop is None and self._grows(current):
            self._adopt(current)
            yield from self._draw_on(current, room)
        current.draft = self._draft_of(current, "hit", max(0, len(chain.tokens) - len(branch.tokens)))
        return current

    def _anew(self, room: int, is_first: bool) -> Feeds[CurrentDraft]:
        """Draft while the target waits: by the model, or after a miss by the backup."""
        current = CurrentDraft()
        backup, tokens = ("", ()) if is_first else self.policy.after_a_miss(room)
        origin: Origin = "fresh" if is_first else "miss"
        if tokens:
            chances = [*self.policy.copied_chances(len(tokens))] if backup == "copy" else []
            current.chain = DraftedChain([*tokens], chances=chances)
            current.chain.stop = "eos" if tokens[-1] in self.recipe.end_tokens else "limit"
        else:
            yield from self._draw_on(current, room)
        current.draft = self._draft_of(current, origin, len(current.rows), backup)
        return current

    def _draw_on(self, current: CurrentDraft, room: int) -> Feeds[None]:
        began_ns, chain = time.perf_counter_ns(), current.chain
        before = len(chain.tokens)
        fed = rewind_to(self.runner, [*self._text, *chain.tokens])
        while chain.stop is None:
            current.rows.append(self._drawing.one(chain, (yield self.runner, fed, 1), room))
            fed = chain.tokens[-1:]
        self.policy.note_drafting(len(chain.tokens) - before, time.perf_counter_ns() - began_ns)

    def _grows(self, current: CurrentDraft) -> bool:
        self._learn()
        return self.policy.grows(len(current.chain.tokens), lambda: self._estimate(current).survival)

    def _estimate(self, current: CurrentDraft) -> DraftedChain:
        """Ask the classifier about each token of a draft that has no estimates yet. Return its chain."""
        estimator, chain = self._drawing.estimator, current.chain
        if estimator is None or chain.chances or not chain.tokens:
            return chain
        self._learn()
        preferences = itertools.chain((values for _, values in current.best), itertools.repeat([]))
        for token, row, best in zip(chain.tokens, current.rows, preferences, strict=False):
            chain.note(*estimator.one(chain, row.scores, row.preferences, token, best))
        return chain

    def _draft_of(self, current: CurrentDraft, origin: Origin, passes: int, backup: Backup = "") -> Draft:
        chain = current.chain
        return Draft(
            tokens=tuple(chain.tokens),
            scores=current.bent(),
            lookahead=self.policy.lookahead,
            stop=chain.stop or "early",
            origin=origin,
            passes=passes,
            estimates=tuple(chain.estimates),
            backup=backup,
        )

    # The preparation --------------------------------------------------------------------------------------------------

    def opening(self) -> Feeds[None]:
        """Choose the outcomes to prepare for."""
        self.chosen = ChosenOutcomes()
        if not self._is_open:
            self._is_open = True
            self._adopt(self._current)
            self.chosen = yield from self._timed(self._choosing(self._current))

    def branch(self, chosen: ChosenOutcomes, rows: int) -> None:
        """Open a branch for each of these outcomes, in passes of so many rows. No tree if none is chosen."""
        began_ns, self._rows = time.perf_counter_ns(), rows
        self._tree = self._opened(chosen) if chosen.outcomes else None
        ended_ns, found = time.perf_counter_ns(), self._preparation
        self._preparation = found._replace(
            busy_ns=found.busy_ns + ended_ns - began_ns,
            opening_ns=found.opening_ns + ended_ns - began_ns,
            end_ns=ended_ns,
            predicted_hit=chosen.predicted_hit,
            fanout=chosen.fanout,
            pass_rows=rows,
        )

    @property
    def has_more(self) -> bool:
        """Whether a step is left, once branches are open. Beside the target, the last one reads the branches' last
        tokens."""
        tree = self._tree
        if tree is None or not tree.is_done:
            return tree is not None
        return self.policy.budget.hides and bool(tree.depth and tree.can_round_off)

    @property
    def puts_off_step(self) -> bool:
        """Whether to wait for the verdict instead of taking a step."""
        assert self._tree
        tree, drafted = self._tree, len(self.draft.tokens)
        return self.policy.budget.hides and self.policy.puts_off_step(drafted, tree.depth, tree.is_done)

    def deepening(self) -> Feeds[None]:
        """Take a step: one more token in every branch."""
        assert self._tree
        before_ns = self._preparation.busy_ns
        yield from self._timed(self._tree.round_off() if self._tree.is_done else self._tree.step())
        self.policy.note_step(self._rows, self._preparation.busy_ns - before_ns)

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
            busy_ns=found.busy_ns if self.policy.budget.hides else found.end_ns - found.start_ns,
        )

    def _adopt(self, current: CurrentDraft) -> None:
        """Go on in the model's cache with the branch that won: what it has read of it, it need not read again."""
        if current.branch is not None and self._tree:
            self._tree.adopt(current.branch)
        current.branch = self._tree = None

    def _choosing(self, current: CurrentDraft) -> Feeds[ChosenOutcomes]:
        """Bring the cache to the end of the current draft. Then have the policy choose outcomes, from what the draft
        prefers after each accepted count: some more tokens than are guessed, because some may be no guess."""
        self._learn()
        yield from self._read_on(current)
        current.find_best(max(RANKS, self.policy.planner.most_guesses) + 1 + len(self.recipe.end_tokens))
        self._estimate(current)
        guesses = [self._guesses(current, k) for k in range(len(current.draft.tokens) + 1)]
        if self._drawing.estimator is None:
            return self.policy.choose(current.draft, (), guesses)
        return self._by_estimates(current, self._drawing.estimator, guesses)

    def _read_on(self, current: CurrentDraft) -> Feeds[None]:
        """Complete the rows after the text and after each drafted token. Those that tokens were drawn from are known;
        the one after the last token is known if its branch was rounded off."""
        tokens, rows = current.draft.tokens, current.rows
        missing = [tokens[:count] for count in range(len(rows), len(tokens) + 1)]
        if not missing:
            return
        logits: Tensor | None = current.last
        if logits is None:
            logits = yield self.runner, rewind_to(self.runner, [*self._text, *tokens], len(missing)), len(missing)
        drawn = self._drawing.rows(logits, missing)
        rows += [drawn.row(i) for i in range(len(missing))]

    def _guesses(self, current: CurrentDraft, accepted: int) -> list[int]:
        """The target's likeliest tokens after so many accepted ones. None after an end token, or without room."""
        tokens = current.draft.tokens
        is_over = accepted > 0 and tokens[accepted - 1] in self.recipe.end_tokens
        if is_over or accepted + 1 >= current.limit or len(self._text) + accepted >= self.runner.context:
            return []
        best, preferences = current.best[accepted]
        possible = [token for token, value in zip(best, preferences, strict=True) if value > -math.inf]
        return self.policy.guessable(possible, tokens[accepted] if accepted < len(tokens) else None)

    def _by_estimates(self, current: CurrentDraft, estimator: Estimator, guesses: list[list[int]]) -> ChosenOutcomes:
        draft, policy = current.draft, self.policy
        after, lengths = policy.echoes.fork(), list[int]()
        for drafted, listed in zip((*draft.tokens, None), guesses, strict=True):
            echo, length = after.next()
            is_known = echo is not None and echo < self.dice.vocab
            lengths.append(length if is_known and policy.put_echo_first(listed, echo, drafted) else 0)
            if drafted is not None:
                after.take(drafted)
        row, ((favourite, *_), values) = current.rows[len(draft.tokens)], current.best[len(draft.tokens)]
        _, bonus = estimator.one(current.chain, row.scores, row.preferences, favourite, values)
        return policy.choose(draft, [*current.chain.chances, bonus], guesses, lengths)

    def _opened(self, chosen: ChosenOutcomes) -> BranchTree:
        current, drawing = self._current, self._drawing
        tokens, drawing.guesses = current.draft.tokens, self.policy.planner.guesses_by_position
        lengths = [len(self._text) + k for k, _ in chosen.outcomes]
        behind = self.runner.context - max(lengths)
        most = self.policy.room(current.limit - 1, behind)
        branches = [Branch(accepted=k, token=token, ahead=[*tokens[:k], token]) for k, token in chosen.outcomes]
        return BranchTree(self.runner, lengths, branches, most, most < behind, drawing)

    def _timed(self, work: Feeds[Result]) -> Feeds[Result]:
        """Do the work, and note how long it took."""
        began_ns = time.perf_counter_ns()
        result = yield from work
        ended_ns, found = time.perf_counter_ns(), self._preparation
        self._preparation = found._replace(
            passes=found.passes + 1,
            busy_ns=found.busy_ns + ended_ns - began_ns,
            opening_ns=found.opening_ns or ended_ns - began_ns,
            start_ns=found.start_ns or began_ns,
            end_ns=ended_ns,
        )
        return result


def plan_of(choice: Choice, vocab: int, classifier: DraftClassifier | None) -> Plan:
    """The plan of a choice that prepares ahead. The classifier counts only if the strategy asks one."""
    assert choice.ahead, f"{choice.label} prepares nothing ahead"
    return plan_for(choice.ahead, vocab, None if choice.classifier is None else classifier)


def plan_for(settings: SpeculatorSettings, vocab: int, classifier: DraftClassifier | None = None) -> Plan:
    random = partial(_random_tokens, vocab=vocab)
    return Plan(settings, TokenPrices.of(classifier), random, judge_if_any(classifier))


def _random_tokens(seed: int, text: Sequence[int], count: int, vocab: int) -> list[int]:
    """Random tokens, the same at the same position of the same text. They use the draft's coins, as no verdict does."""
    position = chance.digest([len(text), *text[-RECENT:]])
    return [int(chance.uniform(seed, "draft", chance.digest([i], position)) * vocab) for i in range(count)]

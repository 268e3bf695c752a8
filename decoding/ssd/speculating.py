"""The draft's side of one sample: answer the verdict first, then prepare drafts for the outcomes that may come next.

Whoever drives it decides how long it may prepare: in turn, until nothing is worth more; beside the target, until the
next verdict is there. It sees nothing of the target but verdicts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.drafting import EMPTY, Draft, read_prompt
from decoding.events import Backup, Source
from decoding.runner import ModelRunner, align
from decoding.ssd.backups import certain, echoed, random_tokens
from decoding.ssd.chain import Branch, Chain
from decoding.ssd.drawing import drawing_for
from decoding.ssd.outcomes import RANKS
from decoding.ssd.pace import Pace
from decoding.ssd.planning import Planner, planner_for
from decoding.ssd.settings import Settings
from decoding.ssd.tree import Tree


@dataclass(frozen=True)
class Prepared:
    """What was prepared since the last answer. Times are `time.perf_counter_ns()`, which all processes share."""

    branches: tuple[tuple[int, int, int], ...] = ()  # (accepted count, the target's token, depth reached)
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()  # entry k: how many branches for k accepted
    passes: int = 0
    busy_ns: int = 0
    opening_ns: int = 0  # of that, the first pass: it brings the cache up to date and opens the branches
    start_ns: int = 0
    end_ns: int = 0
    idle_ns: int = 0  # from then until now


@dataclass
class _Given:
    """The draft that is with the target."""

    draft: Draft = EMPTY
    limit: int = 0  # the most tokens it could have
    chain: Chain = field(default_factory=Chain)
    seen: list[Tensor] = field(default_factory=list)  # [1, V] each: its first tokens' scores, as far as the model ran
    row: int | None = None  # of the tree that it comes from, until that branch is adopted
    ranked: Sequence[list[int]] = ()  # for each accepted count, tokens that the target may say, likeliest first
    echoed: Sequence[int] = ()  # for each, how much of the text before it the first but the favourite rests on


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
        self.runner = runner
        self.dice = dice
        self.settings = settings
        self.end_tokens = end_tokens
        self._drawing = drawing_for(dice, end_tokens, settings, classifier)
        self._planner: Planner = planner_for(settings, by_estimates=classifier is not None)
        self._pace = Pace(settings.backup)
        self._echoes = Echoes()
        self._text: list[int] = []
        self._given = _Given()
        self._untaken: tuple[_Given, int, list[int]] | None = None  # a verdict: on what, how many, the text it brought
        self._tree: Tree | None = None
        self._is_committed = True
        self._prepared = Prepared()

    def read(self, text: Sequence[int]) -> None:
        """Read the prompt, so that `begin` starts warm."""
        self._text = list(text)
        self._hear(text)
        if len(text) <= self.runner.context:  # otherwise it never drafts, and the target goes on alone
            read_prompt(self.runner, text)

    def begin(self, text: Sequence[int], limit: int) -> Draft:
        """The first draft. Reads the prompt if `read` has not."""
        if self._text != list(text):
            self.read(text)
        return self._give(self._draft_alone(self._room(limit), "fresh"), limit)

    def answer(self, accepted: int, token: int, limit: int) -> Draft:
        """The verdict on the last draft; returns the next one, of at most `limit` tokens."""
        if not self._is_committed:
            self._adopt(self._given)  # the verdict was earlier than any step: the branches there are those of before
        row = self._tree.find(accepted, token) if self._tree else None
        self._take_in()
        fresh = [*self._given.draft.tokens[:accepted], token]
        self._pace.judged(self._given.draft, accepted)
        self._text += fresh
        self._untaken = (self._given, accepted, fresh)
        room = self._room(limit)
        if row is None or room <= 0:
            self._take_in()
            self._tree = None
            return self._give(self._after_a_miss(room), limit)
        return self._give(self._after_a_hit(row, room), limit)

    def step(self) -> bool:
        """One step of preparing. False when nothing is worth preparing any more."""
        began = time.perf_counter_ns()
        if not self._is_committed:
            self._commit()
        elif self._tree and not self._tree.is_done:
            self._tree.step()
        else:
            return False
        ended = time.perf_counter_ns()
        before = self._prepared
        self._prepared = dataclasses.replace(
            before,
            passes=before.passes + 1,
            busy_ns=before.busy_ns + ended - began,
            opening_ns=before.opening_ns or ended - began,
            start_ns=before.start_ns or began,
            end_ns=ended,
        )
        return True

    def prepared(self) -> Prepared:
        """What has been prepared since the last answer."""
        found = self._prepared
        if not found.passes:
            return found
        branches = self._tree.branches if self._tree else ()
        return dataclasses.replace(
            found,
            branches=tuple((b.accepted, b.token, len(b.tokens)) for b in branches if b.tokens),
            idle_ns=time.perf_counter_ns() - found.end_ns,
        )

    # The answer ---------------------------------------------------------------------------------------------------

    def _give(self, given: _Given, limit: int) -> Draft:
        given.limit = limit
        self._given = given
        self._prepared = Prepared()
        self._is_committed = not given.draft.tokens
        self._pace.gave()
        return given.draft

    def _room(self, limit: int) -> int:
        return min(limit, self.settings.lookahead, self.runner.context - len(self._text))

    def _hear(self, tokens: Sequence[int]) -> None:
        self.dice.commit(tokens)
        self._echoes.follow(self._text)

    def _take_in(self) -> None:
        """What the last verdict teaches. After a hit that can wait until the answer is out."""
        if self._untaken is None:
            return
        (given, accepted, fresh), self._untaken = self._untaken, None
        self._learn(given, accepted, fresh)
        self._hear(fresh)

    def _learn(self, given: _Given, accepted: int, fresh: Sequence[int]) -> None:
        draft, ranked, token = given.draft, given.ranked, fresh[-1]
        if self.settings.backup == "auto":
            self._pace.echoed(echoed(self._echoes, len(fresh)), fresh)
        if not draft.tokens:
            return
        rank = None
        if ranked:
            rank = ranked[accepted].index(token) if token in ranked[accepted] else RANKS
        self._planner.tell(draft, accepted, rank, given.echoed[accepted] if given.echoed else 0)

    def _after_a_hit(self, row: int, room: int) -> _Given:
        """What the branch has come to. Where the verdict was early, it alone may go on, if that is worth the wait."""
        assert self._tree is not None
        branch = self._tree.branches[row]
        chain = branch.cut(room, self.settings.lookahead)
        seen, bent = self._tree.rows(row, len(chain.tokens))
        given = _Given(chain=chain, seen=seen, row=row)
        if chain.stop is None and self._is_worth_waiting(chain):
            self._take_in()
            self._adopt(given)
            self._draw_on(given, bent, room)
        given.draft = self._draft_of(given.chain, bent, "hit", passes=max(0, len(chain.tokens) - len(branch.tokens)))
        return given

    def _after_a_miss(self, room: int) -> _Given:
        if room <= 0:
            return _Given()
        backup = self._pace.backup(room)
        tokens = self._without_the_model(backup, room)
        if not tokens:
            return self._draft_alone(room, "miss", "neural")
        chain = Chain(tokens)
        chain.stop = "eos" if tokens[-1] in self.end_tokens else "limit"
        draft = self._draft_of(chain, [certain(tokens, self.dice.vocab)], "miss", 0, backup)
        return _Given(draft, chain=chain)

    def _without_the_model(self, backup: Backup, room: int) -> list[int]:
        """Up to the first end token. Nothing where the text has never said the like; then the model is asked."""
        tokens: list[int] = []
        if backup == "ngram":
            tokens = echoed(self._echoes, room)
        elif backup == "random":
            tokens = random_tokens(self.dice.seed, self._text, room, self.dice.vocab)
        end = next((i for i, token in enumerate(tokens) if token in self.end_tokens), len(tokens))
        return tokens[: end + 1]

    def _draft_alone(self, room: int, source: Source, backup: Backup = "") -> _Given:
        """One token after another, while the target waits."""
        given = _Given()
        bent: list[Tensor] = []
        if room > 0:
            self._draw_on(given, bent, room)
            given.draft = self._draft_of(given.chain, bent, source, passes=len(bent), backup=backup)
        return given

    def _draw_on(self, given: _Given, bent: list[Tensor], room: int) -> None:
        began, before = time.perf_counter_ns(), len(given.chain.tokens)
        fed = align(self.runner, [*self._text, *given.chain.tokens])
        given.chain.echoes = self._heard(given.chain.tokens)[-1]
        while given.chain.stop is None:
            scores, drawn_from = self._drawing.one(given.chain, self.runner.extend(fed), room)
            given.seen.append(scores)
            bent.append(drawn_from)
            fed = given.chain.tokens[-1:]
        self._pace.drafted(len(given.chain.tokens) - before, time.perf_counter_ns() - began)

    def _draft_of(
        self, chain: Chain, drawn_from: list[Tensor], source: Source, passes: int, backup: Backup = ""
    ) -> Draft:
        return Draft(
            tokens=tuple(chain.tokens),
            scores=torch.cat(drawn_from),
            lookahead=self.settings.lookahead,
            stop=chain.stop or "early",
            source=source,
            passes=passes,
            estimate=tuple(chain.estimates),
            backup=backup,
        )

    def _is_worth_waiting(self, chain: Chain) -> bool:
        if chain.estimates:
            return chain.survival >= self._drawing.price_alone
        return self._planner.acceptance ** len(chain.tokens) >= self._pace.price

    # The preparation ----------------------------------------------------------------------------------------------

    def _adopt(self, given: _Given) -> None:
        """What the draft model has read of the winner, it need not read again."""
        if given.row is not None and self._tree is not None:
            self._tree.adopt(given.row)
        given.row = None
        self._tree = None

    def _commit(self) -> None:
        """Bring the cache to the end of the draft that was given, and open a branch for each outcome chosen."""
        self._is_committed = True
        self._take_in()
        given = self._given
        self._adopt(given)
        scores, liked = self._rows(given)
        given.ranked = self._ranked(given, liked)
        heard = self._heard(given.draft.tokens)
        given.chain.echoes = heard[-1]
        estimates = [*given.chain.estimates, *self._drawing.estimate_next(given.chain, scores[-1], liked[-1])]
        if self._drawing.estimator:
            given.echoed = [self._echo_first(k, echoes) for k, echoes in enumerate(heard)]
        placed = self._planner.place(given.draft, estimates, given.ranked, given.echoed)
        self._prepared = dataclasses.replace(self._prepared, predicted_hit=placed.predicted_hit, fanout=placed.fanout)
        if placed.outcomes:
            lengths = [len(self._text) + k for k, _ in placed.outcomes]
            most = min(self.settings.lookahead, given.limit - 1, self.runner.context - max(lengths))
            self._drawing.guesses = self._planner.guesses
            self._tree = Tree(self.runner.fork(lengths), self._branches(placed.outcomes, heard), most, self._drawing)

    def _heard(self, tokens: Sequence[int]) -> list[Echoes]:
        """Where the text has been before, after itself and after each of these tokens."""
        found = [self._echoes]
        if self._drawing.estimator:
            found[0] = self._echoes.fork()
            for token in tokens:
                found.append(found[-1].fork())
                found[-1].take(token)
        return found

    def _echo_first(self, accepted: int, echoes: Echoes) -> int:
        """Put what the text said here before in front of what is guessed in place of the draft's favourite; returns the
        length of the context that says so, 0 if none does."""
        tokens, ranked = self._given.draft.tokens, self._given.ranked[accepted]
        is_whole = accepted == len(tokens)
        echo = echoes.next()
        favourite = (ranked[0] if ranked else None) if is_whole else tokens[accepted]
        if echo is None or not ranked or echo == favourite or echo in self.end_tokens or echo >= self.dice.vocab:
            return 0
        if echo in ranked:
            ranked.remove(echo)
        ranked.insert(is_whole, echo)
        return max(length for length, said in enumerate(echoes.of(echo), start=1) if said > 0)

    def _branches(self, outcomes: Sequence[tuple[int, int]], heard: Sequence[Echoes]) -> list[Branch]:
        tokens = self._given.draft.tokens
        branches = [Branch(accepted=k, token=token, ahead=[*tokens[:k], token]) for k, token in outcomes]
        if self._drawing.estimator:
            for branch in branches:
                branch.echoes = heard[branch.accepted].fork()
                branch.echoes.take(branch.token)
        return branches

    def _rows(self, given: _Given) -> tuple[Tensor, Tensor]:
        """[k + 1, V], the draft's scores after the text and after each drafted token, and what it likes by them. The
        rows that tokens were drawn from are there; the last one always is new."""
        tokens = given.draft.tokens
        aheads = [tokens[:i] for i in range(len(tokens) + 1)]
        missing = len(aheads) - len(given.seen)
        logits = self.runner.extend(align(self.runner, [*self._text, *tokens], missing), missing)
        scores = torch.cat([*given.seen, self.dice.scores(logits, aheads[-missing:])])
        return scores, self.dice.preferences(scores, aheads)

    def _ranked(self, given: _Given, liked: Tensor) -> list[list[int]]:
        """For each accepted count that leaves room for a draft, the target's likeliest tokens. It never refuses a
        token to say it after all, and after an end token there is no next draft."""
        tokens = given.draft.tokens
        liked = liked.clone()
        liked[torch.arange(len(tokens)), list(tokens)] = -torch.inf
        if self.end_tokens:
            liked[:, [token for token in self.end_tokens if token < liked.shape[1]]] = -torch.inf
        best = liked.topk(min(max(RANKS, self._planner.most), liked.shape[1]), -1)
        rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [
            [token for token, value in zip(*row, strict=True) if value > -torch.inf] if self._has_room(k) else []
            for k, row in enumerate(rows)
        ]

    def _has_room(self, accepted: int) -> bool:
        """For a draft after so many accepted tokens and the target's own: in the answer, and in the draft's context."""
        given = self._given
        is_over = accepted > 0 and given.draft.tokens[accepted - 1] in self.end_tokens
        return not is_over and accepted + 1 < given.limit and len(self._text) + accepted < self.runner.context

"""What the target gets for its verdict: a draft that was prepared, or one that is made while it waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from decoding.drafting import EMPTY, Draft
from decoding.events import Backup, Source
from decoding.runner import align
from decoding.ssd.backups import certain, echoed, random_tokens
from decoding.ssd.chain import Chain
from decoding.ssd.given import Given
from decoding.ssd.side import Side
from decoding.ssd.tree import Tree


@dataclass(frozen=True)
class Late(Draft):
    """What its tokens were drawn from is put together when somebody asks. Where the dice fix the text no verdict does,
    and the answer need not wait for it."""

    drawn_from: Callable[[], Tensor] = lambda: EMPTY.scores

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self.drawn_from() if name == "scores" and found is EMPTY.scores else found


def after_a_hit(side: Side, tree: Tree, row: int, room: int) -> Given:
    """What the branch has come to. Where the verdict was early, it alone may go on, if that is worth the wait."""
    branch, drawing = tree.branches[row], side.drawing
    chain = branch.cut(room, side.settings.lookahead)
    is_whole = len(chain.tokens) == tree.depth
    given = Given(
        chain=chain,
        steps=tree.steps(len(chain.tokens) + 1),
        last=tree.last(row) if is_whole else None,
        branch=row,
        is_adopted=False,
    )
    if drawing.estimator and side.is_long(chain):
        side.estimate(given)
        chain.shorten(drawing.price_beside)
    if chain.stop is None and _is_worth_waiting(side, given):
        adopt(given, tree)
        _draw_on(side, given, room)
    passes = max(0, len(chain.tokens) - len(branch.tokens))
    given.draft = _draft_of(side, chain, partial(_bent, given), "hit", passes)
    return given


def after_a_miss(side: Side, room: int) -> Given:
    backup = side.pace.backup(room)
    tokens = _without_the_model(side, backup, room)
    if not tokens:
        return alone(side, room, "miss", "neural")
    chain = Chain(tokens)
    chain.stop = "eos" if tokens[-1] in side.end_tokens else "limit"
    scores = partial(certain, tokens, side.dice.vocab)
    return Given(_draft_of(side, chain, scores, "miss", 0, backup), chain=chain)


def alone(side: Side, room: int, source: Source, backup: Backup = "") -> Given:
    """One token after another, while the target waits."""
    given = Given()
    _draw_on(side, given, room)
    given.draft = _draft_of(side, given.chain, partial(_bent, given), source, len(given.rows), backup)
    return given


def adopt(given: Given, tree: Tree | None) -> None:
    """What the draft model has read of the winner, it need not read again."""
    if not given.is_adopted and tree is not None:
        tree.adopt(given.branch)
    given.is_adopted = True


def _without_the_model(side: Side, backup: Backup, room: int) -> list[int]:
    """Up to the first end token. Nothing where the text has never said the like; then the model is asked."""
    tokens: list[int] = []
    if backup == "ngram":
        tokens = echoed(side.echoes, room)
    elif backup == "random":
        tokens = random_tokens(side.dice.seed, side.text, room, side.dice.vocab)
    end = next((i for i, token in enumerate(tokens) if token in side.end_tokens), len(tokens))
    return tokens[: end + 1]


def _draw_on(side: Side, given: Given, room: int) -> None:
    began, chain = time.perf_counter_ns(), given.chain
    before = len(chain.tokens)
    fed = align(side.runner, [*side.text, *chain.tokens])
    if side.drawing.estimator and not chain.tokens:
        chain.echoes = side.echoes.fork()
    rows = given.look()
    while chain.stop is None:
        rows.append(side.drawing.one(chain, side.runner.extend(fed), room))
        fed = chain.tokens[-1:]
    side.pace.drafted(len(chain.tokens) - before, time.perf_counter_ns() - began)


def _is_worth_waiting(side: Side, given: Given) -> bool:
    """Of a draft that could go on. The classifier is asked where the average draft so long would."""
    side.take_in()
    average, price = side.planner.acceptance ** len(given.chain.tokens), side.drawing.price_alone
    if not side.drawing.estimator:
        return average >= side.pace.price
    if average < price:
        return False
    side.estimate(given)
    return given.chain.survival >= price


def _bent(given: Given) -> Tensor:
    return torch.cat([row.bent for row in given.look()[: len(given.chain.tokens)]])


def _draft_of(
    side: Side, chain: Chain, drawn_from: Callable[[], Tensor], source: Source, passes: int, backup: Backup = ""
) -> Draft:
    return Late(
        tokens=tuple(chain.tokens),
        scores=EMPTY.scores,
        lookahead=side.settings.lookahead,
        stop=chain.stop or "early",
        source=source,
        passes=passes,
        estimate=tuple(chain.estimates),
        backup=backup,
        drawn_from=drawn_from,
    )

"""What the target gets for its verdict: a draft that was prepared, or one that is made while it waits."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from decoding.drafters.base import Draft
from decoding.events import Backup, Source
from decoding.runner import align
from decoding.ssd.backups import echoed, random_tokens
from decoding.ssd.board import Ready
from decoding.ssd.chain import Chain
from decoding.ssd.given import Given
from decoding.ssd.side import Side
from decoding.ssd.tree import Tree


def ready(side: Side, tree: Tree, given: Given) -> list[Ready]:
    """What would be given for each outcome without a look at any model, if verdicts came now; nothing where more tokens
    or fewer might be worth the target's wait."""
    if not _is_enough(side, tree):
        return []
    asked, found = side.settings.lookahead, []
    for branch in tree.branches:
        room = side.room(given.limit - branch.accepted - 1, branch.accepted + 1)
        if room > 0:
            stop = branch.stop_in(room, asked) or "early"
            found.append(Ready(branch.accepted, branch.token, branch.tokens[:room], stop))
    return found


def taken(side: Side, tree: Tree, row: int, count: int) -> Given:
    """What the target took of what was ready, so many tokens of it."""
    given = _of_branch(side, tree, row, count)
    given.draft = _draft_of(side, given.chain, _bent(given), "hit", 0)
    return given


def after_a_hit(side: Side, tree: Tree, row: int, room: int) -> Given:
    """What the branch has come to. Where the verdict was early, it alone may go on, if that is worth the wait."""
    branch, drawing = tree.branches[row], side.drawing
    given = _of_branch(side, tree, row, room)
    chain = given.chain
    if drawing.estimator and side.is_long(len(chain.tokens)):
        side.estimate(given)
        chain.shorten(drawing.price_beside)
    if chain.stop is None and _is_worth_waiting(side, given):
        adopt(given, tree)
        _draw_on(side, given, room)
    passes = max(0, len(chain.tokens) - len(branch.tokens))
    given.draft = _draft_of(side, chain, _bent(given), "hit", passes)
    return given


def after_a_miss(side: Side, room: int) -> Given:
    backup = side.pace.backup(room)
    tokens = _without_the_model(side, backup, room)
    if not tokens:
        return alone(side, room, "miss", "neural")
    chain = Chain(tokens)
    chain.stop = "eos" if tokens[-1] in side.end_tokens else "limit"
    return Given(_draft_of(side, chain, None, "miss", 0, backup), chain=chain)


def alone(side: Side, room: int, source: Source, backup: Backup = "") -> Given:
    """One token after another, while the target waits."""
    given = Given()
    _draw_on(side, given, room)
    given.draft = _draft_of(side, given.chain, _bent(given), source, len(given.rows), backup)
    return given


def adopt(given: Given, tree: Tree | None) -> None:
    """What the draft model has read of the winner, it need not read again."""
    if not given.is_adopted and tree is not None:
        tree.adopt(given.branch)
    given.is_adopted = True


def _of_branch(side: Side, tree: Tree, row: int, room: int) -> Given:
    chain = tree.branches[row].cut(room, side.settings.lookahead)
    return Given(
        chain=chain,
        steps=tree.steps(len(chain.tokens) + 1),
        last=tree.last(row) if len(chain.tokens) == tree.depth else None,
        branch=row,
        is_adopted=False,
    )


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


def _is_enough(side: Side, tree: Tree) -> bool:
    """Whether no branch, were it to win, would be made longer or shorter."""
    if side.drawing.estimator and side.is_long(tree.depth):
        return False
    return tree.is_done or not _would_go_on(side, tree.depth)


def _would_go_on(side: Side, tokens: int) -> bool:
    """Whether the average draft of so many that could go on is worth the target's wait for one more."""
    price = side.drawing.price_alone if side.drawing.estimator else side.pace.price
    return side.planner.acceptance**tokens >= price


def _is_worth_waiting(side: Side, given: Given) -> bool:
    """Of a draft that could go on. The classifier is asked where the average draft so long would."""
    side.take_in()
    if not _would_go_on(side, len(given.chain.tokens)):
        return False
    side.estimate(given)
    return not side.drawing.estimator or given.chain.survival >= side.drawing.price_alone


def _bent(given: Given) -> Tensor:
    return torch.cat([row.bent for row in given.look()[: len(given.chain.tokens)]])


def _draft_of(
    side: Side, chain: Chain, scores: Tensor | None, source: Source, passes: int, backup: Backup = ""
) -> Draft:
    return Draft(
        tokens=tuple(chain.tokens),
        scores=scores,
        lookahead=side.settings.lookahead,
        stop=chain.stop or "early",
        source=source,
        passes=passes,
        estimates=tuple(chain.estimates),
        backup=backup,
    )

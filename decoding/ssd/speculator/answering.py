"""The answer to a verdict: a draft that was prepared, or one that is made while the target waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from decoding.core.drafter import Draft
from decoding.models.runner import Steps, align
from decoding.ssd.speculator.drawing import DraftedChain
from decoding.ssd.speculator.state import CurrentDraft, DraftRows, SpeculatorState
from decoding.ssd.speculator.tree import BranchTree
from decoding.trace.events import Backup, Origin, StopReason


class Ready(NamedTuple):
    """A draft that the target may take without asking, if this is the verdict."""

    accepted: int
    token: int
    tokens: Sequence[int]
    stop: StopReason


def ready(state: SpeculatorState, tree: BranchTree, current: CurrentDraft) -> list[Ready]:
    """The draft for each outcome, if the verdict came now and no model were asked. Empty if more tokens or fewer might
    be worth the target's wait."""
    if not state.policy.is_final(tree.depth, tree.is_done):
        return []
    lookahead, found = state.policy.lookahead, []
    for branch in tree.branches:
        room = state.room(current.limit - branch.accepted - 1, branch.accepted + 1)
        if room > 0:
            stop = branch.stop_in(room, lookahead) or "early"
            found.append(Ready(branch.accepted, branch.token, branch.tokens[:room], stop))
    return found


def taken(state: SpeculatorState, tree: BranchTree, row: int, count: int) -> CurrentDraft:
    """The draft that the target took: so many tokens of a branch."""
    current = _of_branch(state, tree, row, count)
    current.draft = _draft_of(state, current.chain, _bent(current), "hit", 0)
    return current


def after_a_hit(state: SpeculatorState, tree: BranchTree, row: int, room: int) -> Steps[CurrentDraft]:
    """The branch as far as it has come. If the verdict was early, the branch may go on alone."""
    branch, policy = tree.branches[row], state.policy
    current = _of_branch(state, tree, row, room)
    chain = current.chain
    if policy.is_long(len(chain.tokens)):
        state.estimate(current)
        chain.shorten(policy.prices.beside)
    if chain.stop is None and _grows(state, current):
        adopt(current, tree)
        yield from _draw_on(state, current, room)
    passes = max(0, len(chain.tokens) - len(branch.tokens))
    current.draft = _draft_of(state, chain, _bent(current), "hit", passes)
    return current


def after_a_miss(state: SpeculatorState, room: int) -> Steps[CurrentDraft]:
    backup, found = state.policy.after_a_miss(room)
    tokens = [*found]
    if not tokens:
        return (yield from draft_on_request(state, room, "miss", "neural"))
    chain = DraftedChain(tokens, chances=[*state.policy.copied_chances(len(tokens))] if backup == "copy" else [])
    chain.stop = "eos" if tokens[-1] in state.end_tokens else "limit"
    return CurrentDraft(_draft_of(state, chain, None, "miss", 0, backup), chain=chain)


def draft_on_request(state: SpeculatorState, room: int, source: Origin, backup: Backup = "") -> Steps[CurrentDraft]:
    """Draft one token after another, while the target waits."""
    current = CurrentDraft()
    yield from _draw_on(state, current, room)
    passes = len(current.rows.known)
    current.draft = _draft_of(state, current.chain, _bent(current), source, passes, backup)
    return current


def adopt(current: CurrentDraft, tree: BranchTree | None) -> None:
    """Go on in the model's cache with the branch that won: what the model has read of it, it need not read again."""
    if current.unadopted is not None and tree is not None:
        tree.adopt(current.unadopted)
    current.unadopted = None


def _of_branch(state: SpeculatorState, tree: BranchTree, row: int, room: int) -> CurrentDraft:
    chain = tree.branches[row].cut(room, state.policy.lookahead)
    last = tree.last(row) if len(chain.tokens) == tree.depth else None
    rows = DraftRows(steps=tree.steps(len(chain.tokens) + 1), branch=row, last=last)
    return CurrentDraft(chain=chain, rows=rows, unadopted=row)


def _draw_on(state: SpeculatorState, current: CurrentDraft, room: int) -> Steps[None]:
    began_ns, chain = time.perf_counter_ns(), current.chain
    before = len(chain.tokens)
    fed = align(state.runner, [*state.text, *chain.tokens])
    if state.drawing.estimator and not chain.tokens:
        chain.echoes = state.policy.echoes.fork()
    rows = current.rows.cut()
    while chain.stop is None:
        rows.append(state.drawing.one(chain, (yield state.runner, fed, 1), room))
        fed = chain.tokens[-1:]
    state.policy.note_drafting(len(chain.tokens) - before, time.perf_counter_ns() - began_ns)


def _grows(state: SpeculatorState, current: CurrentDraft) -> bool:
    state.learn()
    return state.policy.grows(len(current.chain.tokens), partial(_survival, state, current))


def _survival(state: SpeculatorState, current: CurrentDraft) -> float:
    state.estimate(current)
    return current.chain.survival


def _bent(current: CurrentDraft) -> Tensor:
    return torch.cat([row.bent for row in current.rows.cut()[: len(current.chain.tokens)]])


def _draft_of(
    state: SpeculatorState, chain: DraftedChain, scores: Tensor | None, source: Origin, passes: int, backup: Backup = ""
) -> Draft:
    return Draft(
        tokens=tuple(chain.tokens),
        scores=scores,
        lookahead=state.policy.lookahead,
        stop=chain.stop or "early",
        source=source,
        passes=passes,
        estimates=tuple(chain.estimates),
        backup=backup,
    )

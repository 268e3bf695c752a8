"""Make what the simulator plays from: a track from a text and the draft model, a plan from settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import torch

from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.models.runner import ModelRunner, read_prompt
from decoding.replay.records import Record
from decoding.ssd.backups import random_tokens
from decoding.ssd.policy.planner import RANKS
from decoding.ssd.policy.ssd_policy import TokenPrices, echo_of
from decoding.ssd.settings import Settings
from decoding.ssd.simulation.playing import Plan
from decoding.ssd.simulation.track import Track


def plan_for(settings: Settings, vocab: int, classifier: Classifier | None = None) -> Plan:
    return Plan(settings, TokenPrices.of(classifier), partial(random_tokens, vocab=vocab))


@torch.inference_mode()
def follow(
    tokens: Sequence[int],
    text: Sequence[int],
    record: Record,
    *,
    draft: ModelRunner,
    dice: Dice,
    room: int,
    end_tokens: Collection[int],
    branches: int,
    estimates: Sequence[Sequence[float]] = (),
) -> Track:
    """Run the draft once along `text`, which the target wrote after `tokens`. Keep as many of its best tokens at each
    position as any fan-out of so many branches can ask for. `dice` is new, has the sample's seed, and must fix the text
    (greedy or shared)."""
    dice.commit(tokens)
    read_prompt(draft, tokens)
    logits = draft.extend([*tokens[-1:], *text[:-1]], need=len(text))
    aheads = [text[:i] for i in range(len(text))]
    preferences = dice.preferences(dice.scores(logits, aheads), aheads)
    most = min(max(branches, RANKS) + 1 + len(end_tokens), preferences.shape[1])
    best = preferences.topk(most, -1).indices.tolist()
    return Track(
        prompt=tuple(tokens),
        text=tuple(text),
        preferred=tuple(map(tuple, best)),
        record=record,
        room=room,
        end_tokens=frozenset(end_tokens),
        seed=dice.seed,
        estimates=estimates,
        echoes=[*_echoes(tokens, text)] if estimates else (),
    )


def _echoes(tokens: Sequence[int], text: Sequence[int]) -> Iterator[tuple[int, int]]:
    echoes = Echoes()
    echoes.follow(tokens)
    for token in text:
        echo, length = echo_of(echoes)
        yield echo or 0, length
        echoes.take(token)

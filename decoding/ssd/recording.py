"""What the draft preferred along a target's text: what the simulator plays from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import torch

from decoding.dice import Dice
from decoding.disco.echoes import Echoes
from decoding.replay import Record
from decoding.runner import ModelRunner, read_prompt
from decoding.ssd.outcomes import RANKS
from decoding.ssd.track import Track


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
    """Run the draft once along `text`, which the target has written after `tokens`, and keep as many of its best
    tokens at each place as any fan-out of so many branches can ask for. `dice` is new, with the sample's seed, and
    the text's choices must be fixed by it (greedy or shared)."""
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
        said = echoes.next()
        heard = echoes.of(said) if said is not None else ()
        yield said or 0, max((length for length, share in enumerate(heard, start=1) if share > 0), default=0)
        echoes.take(token)

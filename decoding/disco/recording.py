"""What a draft would have said along a target's text: the matter that classifiers are trained on and replays run on.

One teacher-forced pass gives it for the whole text. It is also what live runs show round by round: the tests hold
the two together. `tails` are what the draft would have gone on to say after each token that the target refuses; no
label comes from them, but a replay needs to know when a rule would have stopped there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.dice import Dice
from decoding.disco import features
from decoding.drafting import read_prompt
from decoding.replay import Record
from decoding.runner import ModelRunner

BRANCHES = 32  # tails drafted side by side


@dataclass(frozen=True)
class Recording:
    """One prompt: N tokens of the target's text."""

    prompt: str
    matches: Tensor  # bool [N]
    static: Tensor  # [N, STATIC], of the draft's own token at each place
    tails: Tensor  # [M, depth, STATIC], one row per place without a match, in order
    tail_room: Mapping[int, int]  # place -> how many of those tokens come before the draft's own end, where it ends
    max_new_tokens: int
    ended: bool  # the text's last token is an end token

    @property
    def record(self) -> Record:
        return Record.of(self.matches.tolist(), self.max_new_tokens, self.tail_room, self.ended)


def record(
    prompt: str,
    tokens: Sequence[int],
    text: Sequence[int],
    *,
    draft: ModelRunner,
    dice: Dice,
    end_tokens: Collection[int],
    max_new_tokens: int,
    tail_depth: int = 0,
) -> Recording:
    """Run the draft once along `text`, which the target has written after `tokens`. `dice` is new, with the sample's
    seed, and the text's choices must be fixed by it (greedy or shared)."""
    dice.commit(tokens)
    read_prompt(draft, tokens)
    logits = draft.extend([*tokens[-1:], *text[:-1]], need=len(text))
    aheads = [text[:i] for i in range(len(text))]
    scores = dice.scores(logits, aheads)
    preferences = dice.preferences(scores, aheads)
    said = preferences.argmax(-1)
    matches = said == torch.tensor(text, device=said.device)
    misses = [i for i, match in enumerate(matches.tolist()) if not match]
    tails, room = _tails(tokens, text, misses, said, draft, dice, end_tokens, tail_depth)
    static = features.describe(scores, preferences, said)
    ended = text[-1] in end_tokens
    return Recording(prompt, matches.cpu(), static.cpu(), tails.cpu(), room, max_new_tokens, ended)


def _tails(
    tokens: Sequence[int],
    text: Sequence[int],
    misses: Sequence[int],
    said: Tensor,
    draft: ModelRunner,
    dice: Dice,
    end_tokens: Collection[int],
    depth: int,
) -> tuple[Tensor, dict[int, int]]:
    """What follows each refused token, if the draft is let go on, and where it would end the text."""
    parts: list[Tensor] = []
    room: dict[int, int] = {}
    for first in range(0, len(misses), BRANCHES) if depth else ():
        places = misses[first : first + BRANCHES]
        branches = draft.fork([len(tokens) + place for place in places])
        chains: list[list[int]] = [[int(said[place])] for place in places]
        columns: list[Tensor] = []
        for _ in range(depth):
            aheads = [[*text[:place], *chain] for place, chain in zip(places, chains, strict=True)]
            scores = dice.scores(branches.extend([chain[-1] for chain in chains]), aheads)
            preferences = dice.preferences(scores, aheads)
            ids = preferences.argmax(-1)
            columns.append(features.describe(scores, preferences, ids))
            for chain, token in zip(chains, ids.tolist(), strict=True):
                chain.append(token)
        parts.append(torch.stack(columns, 1))
        for place, chain in zip(places, chains, strict=True):
            ends = [i for i, token in enumerate(chain) if token in end_tokens]
            if ends:
                room[place] = ends[0]
    return torch.cat(parts) if parts else torch.empty(0, depth, features.STATIC), room

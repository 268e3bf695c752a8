"""What a draft would have said along a target's text: the matter that classifiers are trained on and replays run on.

One teacher-forced pass gives it for the whole text. It is also what live runs show round by round: the tests hold
the two together. `tails` are what the draft would have gone on to say after each token that the target refuses; no
label comes from them, but a replay needs to know when a rule would have stopped there.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.dice import Dice, broken
from decoding.disco import features
from decoding.disco.echoes import LONGEST, Echoes
from decoding.replay import Record
from decoding.runner import ModelRunner, read_prompt

BRANCHES = 32  # tails drafted side by side


@dataclass(frozen=True)
class Recording:
    """One prompt: N tokens of the target's text."""

    prompt: str
    matches: Tensor  # bool [N]
    accepted: Tensor  # [N], the chance that each was accepted: 1 or 0 where the dice fix the text
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
    judge: ModelRunner | None = None,
) -> Recording:
    """Run the draft once along `text`, which the target has written after `tokens`. `dice` is new, with the sample's
    seed. Under greedy and shared dice the text is the same however it was drafted. Under ratio dice it must be one all
    of whose tokens were drafted; `judge` is then the target, which says by what chance it accepted each."""
    dice.commit(tokens)
    read_prompt(draft, tokens)
    logits = draft.extend([*tokens[-1:], *text[:-1]], need=len(text))
    aheads = [text[:i] for i in range(len(text))]
    scores = dice.scores(logits, aheads)
    preferences = dice.preferences(scores, aheads)
    said = dice.draw(scores, aheads)
    if int(said.min()) < 0:
        raise broken()
    matches = said == torch.tensor(text, device=said.device)
    misses = [i for i, match in enumerate(matches.tolist()) if not match]
    tails, chains, room = _tails(tokens, text, misses, said, draft, dice, end_tokens, tail_depth)
    echoes, tail_echoes = _echoes(tokens, text, said.tolist(), chains)
    accepted = matches.float()
    if judge is not None:
        accepted = _chances(judge, dice, tokens, text, aheads, said, scores)
    static = features.describe(scores, preferences, said, echoes)
    tails[..., -LONGEST:] = tail_echoes.view(*tails.shape[:2], LONGEST)
    ended = text[-1] in end_tokens
    return Recording(prompt, matches.cpu(), accepted.cpu(), static.cpu(), tails, room, max_new_tokens, ended)


def _chances(
    target: ModelRunner,
    dice: Dice,
    tokens: Sequence[int],
    text: Sequence[int],
    aheads: Sequence[Sequence[int]],
    said: Tensor,
    scores: Tensor,
) -> Tensor:
    """min(1, p/q) of the draft's token at each place: what the ratio rule accepts it by."""
    read_prompt(target, tokens)
    judged = dice.scores(target.extend([*tokens[-1:], *text[:-1]], need=len(text)), aheads)
    p, q = (
        torch.softmax(rows.double(), -1).gather(1, said.to(rows.device)[:, None])[:, 0].cpu()
        for rows in (judged, scores)
    )
    return (p / q).clamp(max=1.0).float()


def _tails(
    tokens: Sequence[int],
    text: Sequence[int],
    misses: Sequence[int],
    said: Tensor,
    draft: ModelRunner,
    dice: Dice,
    end_tokens: Collection[int],
    depth: int,
) -> tuple[Tensor, dict[int, list[int]], dict[int, int]]:
    """What follows each refused token, if the draft is let go on: described, but for its echoes; the tokens, by place
    and from the refused one on; and where they would end the text."""
    parts: list[Tensor] = []
    continued: dict[int, list[int]] = {}
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
            ids = dice.draw(scores, aheads)
            columns.append(features.describe(scores, preferences, ids))
            for chain, token in zip(chains, ids.tolist(), strict=True):
                chain.append(token)
        parts.append(torch.stack(columns, 1))
        for place, chain in zip(places, chains, strict=True):
            continued[place] = chain
            ends = [i for i, token in enumerate(chain) if token in end_tokens]
            if ends:
                room[place] = ends[0]
    return torch.cat(parts).cpu() if parts else torch.empty(0, depth, features.STATIC), continued, room


def _echoes(
    tokens: Sequence[int], text: Sequence[int], said: Sequence[int], chains: Mapping[int, Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """Of the draft's own token at each place [N, LONGEST], and of what would follow the refused ones, in order."""
    whole, echoes = [*tokens, *text], Echoes()
    here: list[list[float]] = []
    after: list[list[list[float]]] = []
    for place, token in enumerate(said):
        echoes.follow(whole[: len(tokens) + place])
        here.append(echoes.of(token))
        if place in chains:
            after.append([])
            for before, following in itertools.pairwise(chains[place]):
                echoes.take(before)
                after[-1].append(echoes.of(following))
    return torch.tensor(here), torch.tensor(after)

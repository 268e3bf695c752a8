"""Recording: what the draft proposes at each position of the target's text. Classifiers learn from recordings, and
replays run on them.

One teacher-forced pass gives the draft's proposals for the whole text. A live run gives the same proposals round by
round; tests compare the two. `tails` are the tokens that the draft would add after each refused one. They give no
labels, but a replay needs them to know when a rule would have stopped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from decoding.dice.dice import Dice, broken
from decoding.disco import features
from decoding.drafting.records import Ranked, Record, RecordedText, Written
from decoding.models.runner import ModelRunner, read_prompt

BRANCHES = 32  # tails that are drafted side by side
PREFERRED = 48  # tokens that are kept of each position: as many as a simulation of SSD can ask for
NOTHING = torch.empty(0, 0, dtype=torch.long)


@dataclass(frozen=True)
class Recording:
    """One prompt: N tokens of the target's text."""

    prompt: str
    tokens: Sequence[int]  # prompt and text
    prompt_tokens: int  # how many of them are the prompt's
    matches: Tensor  # bool [N], whether the draft proposes the text's token
    accepted: Tensor  # [N], the probability that each was accepted: 1 or 0 where the dice fix the text
    static: Tensor  # [N, STATIC], features of the draft's own token at each position
    tails: Tensor  # [M, depth, STATIC], one row per position without a match, in order
    tail_room: Mapping[int, int]  # position -> tokens of its tail up to and including an end token, if it has one
    max_new_tokens: int
    ended: bool  # the text's last token is an end token
    end_tokens: frozenset[int] = frozenset()
    preferred: Tensor = NOTHING  # int [N, PREFERRED], the draft's best tokens at each position, best first
    seed: int = 0  # of the sample's dice

    @property
    def is_drafted(self) -> bool:
        """Whether a draft model was recorded along the text: a target alone has none."""
        return self.static.shape[1] > 0

    @property
    def played(self) -> RecordedText:
        """The text as replays show it to sources that see nothing of its tokens."""
        prompt, text = self.tokens[: self.prompt_tokens], self.tokens[self.prompt_tokens :]
        preferred, room = self.preferred.tolist(), self.max_new_tokens
        return RecordedText(
            self.record,
            self.prompt_tokens,
            ranked=Ranked.of(text, preferred, room),
            written=Written(prompt, text, room, self.end_tokens),
            preferred=preferred,
            seed=self.seed,
        )

    def head(self, length: int) -> Recording:
        """The same text as it is where there is no room for more than so many tokens."""
        end, is_whole = self.prompt_tokens + length, length >= len(self.matches)
        return replace(
            self,
            tokens=self.tokens[:end],
            matches=self.matches[:length],
            accepted=self.accepted[:length],
            static=self.static[:length],
            tails=self.tails[: int((~self.matches[:length]).sum())],
            tail_room={place: room for place, room in self.tail_room.items() if place < length},
            max_new_tokens=min(length, self.max_new_tokens),
            ended=self.ended and is_whole,
            preferred=self.preferred[:length],
        )

    @property
    def record(self) -> Record:
        return Record.of(self.matches.tolist(), self.max_new_tokens, self.tail_room, self.ended)

    def rounds(self, cap: int) -> Tensor:
        """Return the static features of the rounds that start at each position, `cap` tokens each: [N, cap, STATIC].
        After a round's first refused token they are those of the tail."""
        count = len(self.matches)
        runs = torch.tensor(self.record.runs)
        starts, steps = torch.arange(count)[:, None], torch.arange(cap)[None]
        rows = self.static[(starts + steps).clamp(max=count - 1)]
        if not self.tails.numel():
            return rows
        tail_of = ((~self.matches).cumsum(0) - 1)[(starts[:, 0] + runs).clamp(max=count - 1)].clamp(min=0)
        depth = (steps - runs[:, None] - 1).clamp(0, self.tails.shape[1] - 1)
        return torch.where((steps <= runs[:, None])[..., None], rows, self.tails[tail_of[:, None], depth])


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
    """Run the draft once along `text`, which the target wrote after `tokens`. `dice` must be new, with the sample's
    seed. Under greedy and shared dice every draft gives this text. Under ratio dice the text must consist of drafted
    tokens, and `judge`, the target, gives the probability that it accepts each of them."""
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
    tails, room = _tails(tokens, text, misses, said, draft, dice, end_tokens, tail_depth)
    accepted = matches.float()
    if judge is not None:
        accepted = _chances(judge, dice, tokens, text, aheads, said, scores)
    static = features.describe(scores, preferences, said)
    ended = text[-1] in end_tokens
    return Recording(
        prompt,
        [*tokens, *text],
        len(tokens),
        matches.cpu(),
        accepted.cpu(),
        static.cpu(),
        tails,
        room,
        max_new_tokens,
        ended,
        frozenset(end_tokens),
        preferences.topk(min(PREFERRED, preferences.shape[1]), -1).indices.cpu(),
        dice.seed,
    )


def undrafted(
    prompt: str, tokens: Sequence[int], text: Sequence[int], room: int, end_tokens: frozenset[int]
) -> Recording:
    """Return the recording of a text of a target alone."""
    count = len(text)
    return Recording(
        prompt=prompt,
        tokens=[*tokens, *text],
        prompt_tokens=len(tokens),
        matches=torch.zeros(count, dtype=torch.bool),
        accepted=torch.zeros(count),
        static=torch.empty(count, 0),
        tails=torch.empty(0, 0, features.STATIC),
        tail_room={},
        max_new_tokens=room,
        ended=bool(text) and text[-1] in end_tokens,
        end_tokens=end_tokens,
        preferred=torch.empty(count, 0, dtype=torch.long),
    )


def _chances(
    target: ModelRunner,
    dice: Dice,
    tokens: Sequence[int],
    text: Sequence[int],
    aheads: Sequence[Sequence[int]],
    said: Tensor,
    scores: Tensor,
) -> Tensor:
    """Acceptance probability min(1, p/q) of the draft's token at each position, by the ratio rule."""
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
) -> tuple[Tensor, dict[int, int]]:
    """Continue the draft after each refused token. Returns the tails' features and, by position, the tokens of a tail
    up to and including its end token, if it has one."""
    parts: list[Tensor] = []
    room: dict[int, int] = {}
    for first in range(0, len(misses), BRANCHES) if depth else ():
        places = misses[first : first + BRANCHES]
        tree, end = draft.grow(), len(draft.tokens) + 1
        parents: Sequence[int] = [len(tokens) + place - end for place in places]
        chains: list[list[int]] = [[int(said[place])] for place in places]
        columns: list[Tensor] = []
        for step in range(depth):
            aheads = [[*text[:place], *chain] for place, chain in zip(places, chains, strict=True)]
            scores = dice.scores(tree.extend([chain[-1] for chain in chains], parents), aheads)
            parents = range(step * len(places), (step + 1) * len(places))
            preferences = dice.preferences(scores, aheads)
            ids = dice.draw(scores, aheads)
            columns.append(features.describe(scores, preferences, ids))
            for chain, token in zip(chains, ids.tolist(), strict=True):
                chain.append(token)
        parts.append(torch.stack(columns, 1))
        for place, chain in zip(places, chains, strict=True):
            ends = [i for i, token in enumerate(chain) if token in end_tokens]
            if ends:
                room[place] = ends[0]
    return torch.cat(parts).cpu() if parts else torch.empty(0, depth, features.STATIC), room

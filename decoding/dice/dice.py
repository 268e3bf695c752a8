"""Dice: they choose tokens from logits, for the draft and for the target, and judge a draft.

A row of logits belongs to a context: the committed text and the tokens ahead of it, drafted but not yet judged. The
same functions serve one drafted token, the rows of a verification, and the branches of a speculation cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.dice import chance
from decoding.dice.sampling import Sampling
from decoding.dice.verify import Draft, QueuedDraft, Verdict, by_equality, by_ratio, by_tree, certain, choose_each
from decoding.errors import BrokenModel
from decoding.models.devices import Launched, on_its_way, sent_to
from decoding.models.fast.fused import best_on

Ahead = Sequence[int] | Sequence[Tensor]  # ids, or one-element tensors of ids that nobody has waited for yet

NOISE_BLOCK = 32  # positions of noise made in one go: the launch costs more than the numbers
BLOCKS_HELD = 3  # of each device: a draft may be a block ahead of the text. 32 positions of 128,256 tokens take 16 MB


@dataclass(frozen=True, slots=True)
class ChosenTokens:
    """A token after each of some contexts."""

    scores: Tensor  # [n, V]
    preferences: Tensor  # [n, V], what the dice went by
    ids: Tensor  # [n], left on the device; -1 where a model is broken


@dataclass(slots=True)
class PendingVerdict:
    """A verdict that the device is at work on."""

    launched: Launched
    _read: Callable[[], Verdict]  # may read whatever was launched before

    def is_done(self) -> bool:
        """Say if the verdict is there, without waiting."""
        return self.launched.is_done

    def verdict(self) -> Verdict:
        self.launched.wait()
        return self._read()


class Dice:
    """The choices of one sample. `commit` appends to its text; everything else only reads.

    These take the best of the preferences, and judge by equality. Without noise that is greedy decoding.
    """

    def __init__(self, sampling: Sampling, vocab: int, seed: int) -> None:
        self.sampling = sampling
        self.vocab = vocab
        self.seed = seed
        self.length = 0
        self._seen: set[int] = set()  # the text's tokens
        self._penalties: dict[torch.device, Tensor] = {}

    def commit(self, tokens: Sequence[int]) -> None:
        self.length += len(tokens)
        if self.sampling.repetition_penalty != 1.0 and not self._seen.issuperset(tokens):
            self._seen.update(tokens)
            for device, penalties in self._penalties.items():
                penalties.index_fill_(0, sent_to(device, tokens), self.sampling.repetition_penalty)

    def scores(self, logits: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        """Apply penalty, temperature and truncation to logits, one row per context: scores to choose from."""
        scores = logits[:, : self.vocab]
        if self.sampling.repetition_penalty != 1.0:
            scores = self._penalised(scores, aheads)
        return tempered(scores, self.sampling)

    def preferences(self, scores: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        """Turn scores into the numbers that a choice goes by. Dice that fix the text choose the best of them."""
        noise = self._noise_for(aheads, scores.device)
        return scores if noise is None else scores + noise

    def draw(self, scores: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        """Choose a token after each context by its scores: ids [rows], left on the device."""
        return self.pick(self.preferences(scores, aheads), aheads)

    def pick(self, preferences: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        """Choose a token after each context by its preferences: ids [rows], left on the device."""
        return _best(preferences)

    def choose(self, logits: Tensor, aheads: Sequence[Ahead]) -> ChosenTokens:
        """Choose the draft's token after each context from its logits."""
        if compiled := self._compiled(logits, aheads):
            return compiled
        scores = self.scores(logits, aheads)
        preferences = self.preferences(scores, aheads)
        return ChosenTokens(scores, preferences, self.pick(preferences, aheads))

    def accepts(self, logits: Tensor, ahead: Ahead, token: int, scores: Tensor) -> bool:
        """Say if the target, with these logits [1, V], will accept a token drawn from `scores` [1, V]. For the oracle,
        which peeks, and for labels."""
        return _read(self.draw(self.scores(logits, [ahead]), [ahead])) == [token]

    def judge(self, logits: Tensor, draft: Draft | QueuedDraft) -> Verdict:
        """Judge a draft by the target's logits after the text and after each drafted token: [k + 1, V]."""
        return self.launch_verdict(logits, draft).verdict()

    def launch_verdict(self, logits: Tensor, draft: Draft | QueuedDraft) -> PendingVerdict:
        """Begin to judge a draft: launch what can be launched without waiting for the device."""
        return launch_by_choices(self.choose(logits, draft.aheads).ids, draft)

    def _noise_for(self, aheads: Sequence[Ahead], device: torch.device) -> Tensor | None:
        """Return what is added to the scores of each row."""
        return None

    def _compiled(self, logits: Tensor, aheads: Sequence[Ahead]) -> ChosenTokens | None:
        """Choose in one call, if a CPU can: torch takes ten, and each costs more than the arithmetic."""
        sampling, device = self.sampling, logits.device
        kernels = chance.compiled() if device.type == "cpu" else None
        is_plain = logits.dtype == torch.float32 and logits.stride(1) == 1 and not sampling.truncates
        is_known = is_plain and sampling.fixes_the_text
        if not kernels or not is_known or any(isinstance(item, Tensor) for ahead in aheads for item in ahead):
            return None
        is_penalised, noise = sampling.repetition_penalty != 1.0, self._noise_for(aheads, device)
        rows, longest = len(aheads), max(map(len, aheads))
        scores = torch.empty(rows, self.vocab)
        preferences = scores if noise is None else torch.empty(rows, self.vocab)
        ids = np.empty(rows, np.int64)
        kernels.choose(
            *(logits.data_ptr(), logits.stride(0), rows, self.vocab),
            *(self.penalties_on(device).data_ptr() if is_penalised else 0, sampling.repetition_penalty),
            np.array(_padded(aheads, longest, -1), np.int64).reshape(rows, longest),
            0.0 if sampling.is_greedy else sampling.temperature,
            *(0 if noise is None else noise.data_ptr(), scores.data_ptr(), preferences.data_ptr(), ids),
        )
        return ChosenTokens(scores, preferences, torch.from_numpy(ids))

    def _penalised(self, scores: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        """Penalise whole rows at once: a token that the context does not hold has penalty 1, which changes nothing."""
        penalties = self.penalties_on(scores.device)[None]
        longest = max(map(len, aheads))
        if longest:
            ahead = self._table(aheads, longest, scores.device)
            penalties = penalties.expand(len(aheads), -1).clone().scatter_(1, ahead, self.sampling.repetition_penalty)
        return penalised(scores, penalties, self.sampling.repetition_penalty)

    def penalties_on(self, device: torch.device) -> Tensor:
        """Return every token's penalty after the text: [V]. It changes as the text grows."""
        if device not in self._penalties:
            seen = sent_to(device, [*self._seen], torch.int64)
            ones = torch.ones(self.vocab, device=device)
            self._penalties[device] = ones.index_fill_(0, seen, self.sampling.repetition_penalty)
        return self._penalties[device]

    def _table(self, aheads: Sequence[Ahead], longest: int, device: torch.device) -> Tensor:
        """Put the tokens ahead into one row per context, and fill short rows up with a token of the text."""
        filler = next(iter(self._seen))
        if any(isinstance(item, Tensor) for ahead in aheads for item in ahead):
            return torch.stack([F.pad(_ids(a, device), (0, longest - len(a)), value=filler) for a in aheads])
        return sent_to(device, _padded(aheads, longest, filler))


class SharedDice(Dice):
    """Draft and target add the same Gumbel noise to their scores, keyed by seed and position, and take the best.

    The text is the target's own sample: the same under every strategy. Only equality may judge it: with the ratio
    rule, noise that both sides know would bias the output.
    """

    def __init__(self, sampling: Sampling, vocab: int, seed: int) -> None:
        super().__init__(sampling, vocab, seed)
        self._noise: dict[torch.device, dict[int, Tensor]] = {}

    def _noise_for(self, aheads: Sequence[Ahead], device: torch.device) -> Tensor:
        return self.noise([self.length + len(ahead) for ahead in aheads], device)

    def noise(self, positions: Sequence[int], device: torch.device) -> Tensor:
        """[positions, V]"""
        first, last = positions[0], positions[-1]
        block, start = divmod(first, NOISE_BLOCK)
        if [*positions] == [*range(first, last + 1)] and last < (block + 1) * NOISE_BLOCK:
            return self._block(block, device)[start : start + len(positions)]
        lowest = min(positions) // NOISE_BLOCK
        if max(positions) // NOISE_BLOCK == lowest:  # branches: a few places, each several times
            rows = sent_to(device, [position % NOISE_BLOCK for position in positions])
            return self._block(lowest, device).index_select(0, rows)
        return torch.stack([self._block(p // NOISE_BLOCK, device)[p % NOISE_BLOCK] for p in positions])

    def _block(self, block: int, device: torch.device) -> Tensor:
        held = self._noise.setdefault(device, {})
        if block not in held:
            positions = range(block * NOISE_BLOCK, (block + 1) * NOISE_BLOCK)
            held[block] = chance.gumbel(self.seed, positions, self.vocab, device)
            if len(held) > BLOCKS_HELD:
                del held[next(iter(held))]
        return held[block]


class Ratio(Dice):
    """Draft and target throw dice of their own, keyed by role and context; the ratio rule keeps the target's law."""

    def __init__(self, sampling: Sampling, vocab: int, seed: int) -> None:
        super().__init__(sampling, vocab, seed)
        self._digest = 0

    def commit(self, tokens: Sequence[int]) -> None:
        super().commit(tokens)
        self._digest = chance.digest(tokens, self._digest)

    def pick(self, preferences: Tensor, aheads: Sequence[Ahead]) -> Tensor:
        return choose_each(_probabilities(preferences), [self._coin("draft", ahead) for ahead in aheads])

    def accepts(self, logits: Tensor, ahead: Ahead, token: int, scores: Tensor) -> bool:
        p = _probabilities(self.scores(logits, [ahead]))[0, token].item()
        q = _probabilities(scores)[0, token].item()
        return self._coin("accept", ahead) * q < p

    def launch_verdict(self, logits: Tensor, draft: Draft | QueuedDraft) -> PendingVerdict:
        """Launch nothing: the steps depend on each other, so only the logits can be waited for beside other work."""
        return PendingVerdict(Launched(logits.device), lambda: self._by_ratio(logits, draft))

    def _by_ratio(self, logits: Tensor, draft: Draft | QueuedDraft) -> Verdict:
        aheads = draft.aheads
        p = _probabilities(self.scores(logits, aheads))
        if draft.parents:
            choices = choose_each(p, [self._coin("resample", ahead) for ahead in aheads])
            return by_tree(choices.tolist(), draft.tokens, draft.parents)
        scores, vocab = draft.scores, p.shape[1]
        q = certain(draft.tokens, vocab, p.device) if scores is None else _probabilities(scores).to(p.device)
        accept_u = [self._coin("accept", ahead) for ahead in aheads[:-1]]
        resample_u = [self._coin("resample", ahead) for ahead in aheads]
        return by_ratio(p, q, draft.tokens, accept_u, resample_u)

    def _coin(self, role: chance.Role, ahead: Ahead) -> float:
        return chance.uniform(self.seed, role, chance.digest(map(int, ahead), self._digest))


def dice_for(sampling: Sampling, vocab: int, seed: int) -> Dice:
    if sampling.is_greedy:
        return Dice(sampling, vocab, seed)
    return (SharedDice if sampling.dice == "shared" else Ratio)(sampling, vocab, seed)


def launch_by_choices(ids: Tensor, draft: Draft | QueuedDraft | None = None) -> PendingVerdict:
    """Begin to judge a draft by the target's own choices."""
    choices = on_its_way(ids)
    return _pending(Launched(ids.device), choices, draft)


def launch_together(asked: Sequence[tuple[Dice, Tensor, Draft | QueuedDraft]]) -> list[PendingVerdict]:
    """Begin to judge drafts of several texts, each by its dice and logits, with one choice and one copy for all. The
    dice must fix the text, and the vocabulary be one."""
    found = [dice.preferences(dice.scores(logits, draft.aheads), draft.aheads) for dice, logits, draft in asked]
    choices = on_its_way(_best(torch.cat(found)))
    launched = Launched(found[0].device)
    each = zip(asked, torch.split_with_sizes(choices, [len(rows) for rows in found]), strict=True)
    return [_pending(launched, ids, draft) for (_, _, draft), ids in each]


def _pending(launched: Launched, choices: Tensor, draft: Draft | QueuedDraft | None) -> PendingVerdict:
    if draft and draft.parents:
        return PendingVerdict(launched, lambda: by_tree(_read(choices), draft.tokens, draft.parents))
    return PendingVerdict(launched, lambda: by_equality(_read(choices), draft.tokens if draft else ()))


def _padded(aheads: Sequence[Ahead], longest: int, filler: int) -> list[list[int | Tensor]]:
    """Put the ids ahead into one row per context, and fill short rows up."""
    return [[*ahead, *[filler] * (longest - len(ahead))] for ahead in aheads]


def penalised(scores: Tensor, penalties: Tensor, penalty: float) -> Tensor:
    """Apply each token's penalty, which is 1 where the context does not hold it. Both are [n, V]."""
    whole = scores.float()
    # Dividing what is positive and multiplying what is not: with a penalty above 1, whichever is less.
    pick = torch.minimum if penalty > 1.0 else torch.maximum
    return pick(whole / penalties, whole * penalties)


def tempered(scores: Tensor, sampling: Sampling) -> Tensor:
    """Apply temperature and truncation to rows of logits."""
    if sampling.is_greedy:
        return scores
    return _truncated(scores.float() / sampling.temperature, sampling.top_k, sampling.top_p)


def _best(scores: Tensor) -> Tensor:
    """Find each row's best score: its id, or -1 where the row holds no finite best, so that one read tells both."""
    if scores.device.type == "cpu":  # torch's own takes three times as long there
        rows = scores.numpy()
        if len(rows) == 1:
            id = int(rows[0].argmax())
            return torch.tensor([id if isfinite(rows[0, id]) else -1])
        ids = rows.argmax(-1)
        finite = np.isfinite(rows[np.arange(len(rows)), ids])  # a sixth of what take_along_axis takes
        return torch.from_numpy(np.where(finite, ids, -1))
    return best(scores)


def best(scores: Tensor) -> Tensor:
    """Find the same in calls that any device takes without waiting."""
    return best_on(scores.device)(scores)


def _read(ids: Tensor) -> list[int]:
    """Wait for ids. Refuse those of a model that answered with NaN or infinity."""
    values: list[int] = ids.tolist()
    if min(values, default=0) < 0:
        raise broken()
    return values


def _probabilities(scores: Tensor) -> Tensor:
    probabilities = torch.softmax(scores.double(), -1)
    if not bool(torch.isfinite(probabilities).all()):
        raise broken()
    return probabilities


def broken() -> BrokenModel:
    return BrokenModel(
        "The model answered with NaN or infinite logits, so no token can be chosen. Its weights may be damaged or "
        "overflow in this number format; try --dtype float32, or check the checkpoint."
    )


def _truncated(scores: Tensor, top_k: int, top_p: float) -> Tensor:
    if 0 < top_k < scores.shape[-1]:
        floor = scores.topk(top_k, -1).values[:, -1:]
        scores = scores.masked_fill(scores < floor, -torch.inf)
    if top_p < 1.0:
        ordered, order = scores.sort(-1, descending=True)
        before = torch.softmax(ordered, -1).cumsum(-1).roll(1, -1)
        before[:, 0].zero_()  # the likeliest token always stays
        drop = torch.zeros_like(scores, dtype=torch.bool).scatter(1, order, before >= top_p)
        scores = scores.masked_fill(drop, -torch.inf)
    return scores


def _ids(ahead: Ahead, device: torch.device) -> Tensor:
    tensors = [item.to(device) if isinstance(item, Tensor) else sent_to(device, [item]) for item in ahead]
    return torch.cat([torch.empty(0, dtype=torch.int64, device=device), *tensors])

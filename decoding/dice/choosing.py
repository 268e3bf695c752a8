"""Choice of a draft's tokens on a GPU. Penalty, noise, choice and the stop rule's look at the token are one CUDA graph,
so one wait covers all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.dice.dice import Dice, SharedDice, best, penalised, tempered
from decoding.dice.sampling import Sampling
from decoding.models.fast.capturing import Capturing

# scores [1, V], preferences (what the choice maximises) [1, V], token [1], number of drafted tokens with it [1] -> [n]
Look = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class LaunchedToken:
    """One drafted token whose launches may still be running."""

    scores: Tensor  # [1, V]
    preferences: Tensor  # [1, V], valid until the next token is launched
    values: Tensor  # token (negative if the model is broken), then the values that the look returned: [1 + n], float64


class Choosing:
    """Token choice for one sampling and one look on one device. Drafts of several texts use it side by side: what
    belongs to one draft is in its `Choices`. Dice must be greedy or shared."""

    def __init__(self, sampling: Sampling, vocab: int, device: torch.device, look: Look | None) -> None:
        self.sampling = sampling
        self.device = device
        self._look = look
        self._logits = torch.zeros(1, vocab, device=device)
        self.penalties = torch.ones(1, vocab, device=device)  # for the text and the draft so far
        self.noise = torch.zeros(1, vocab, device=device)
        self._number = torch.zeros(1, device=device)  # of drafted tokens
        self._capturing = Capturing(device) if device.type == "cuda" else None
        self._graph: torch.cuda.CUDAGraph | None = None

    @torch.inference_mode()
    def begin(self, dice: Dice) -> Choices:
        """Begin a draft."""
        if self._capturing and not self._graph:
            self._capture(self._capturing)
        return Choices(self, dice)

    def launch(self, logits: Tensor, noise: Tensor | None, penalties: Tensor | None, number: int) -> LaunchedToken:
        """Launch the choice of a draft's token of this number, counted from 1. Note the token in `penalties`."""
        self._logits.copy_(logits[:, : self._logits.shape[1]])
        if noise is not None:
            self.noise.copy_(noise)
        if penalties is not None:
            self.penalties[0].copy_(penalties)
        if self._look:
            self._number.fill_(number)
        if self._graph:
            self._graph.replay()
        else:
            self._put_out = self._launches()
        if penalties is not None:
            penalties.copy_(self.penalties[0])
        scores, preferences, values = self._put_out
        return LaunchedToken(scores.clone(), preferences, values.clone())

    def choose(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Launch the choice from logits [1, V] by `penalties` and `noise`, and note the token in `penalties`. Return
        scores, preferences, and the token [1], negative if the model is broken."""
        penalty, scores = self.sampling.repetition_penalty, logits
        if penalty != 1.0:
            scores = penalised(scores, self.penalties, penalty)
        scores = tempered(scores, self.sampling)
        preferences = scores if self.sampling.is_greedy else scores + self.noise
        chosen = best(preferences)
        if penalty != 1.0:
            self.penalties.scatter_(1, chosen.clamp(min=0)[:, None], penalty)
        return scores, preferences, chosen

    def _launches(self) -> tuple[Tensor, Tensor, Tensor]:
        scores, preferences, chosen = self.choose(self._logits)
        token = chosen.clamp(min=0)
        seen = [self._look(scores, preferences, token, self._number).double()] if self._look else []
        return scores, preferences, torch.cat([chosen.double(), *seen])

    def _capture(self, capturing: Capturing) -> None:
        with capturing.aside():
            for _ in range(3):
                self._launches()
        self._graph, self._put_out = capturing.record(self._launches)


class Choices:
    """The choices of one draft."""

    def __init__(self, choosing: Choosing, dice: Dice) -> None:
        self._choosing = choosing
        self._dice = dice
        self._drafted = 0
        is_penalised = choosing.sampling.repetition_penalty != 1.0
        self._penalties = dice.penalties_on(choosing.device).clone() if is_penalised else None

    @torch.inference_mode()
    def launch(self, logits: Tensor) -> LaunchedToken:
        """Launch the choice of the draft's next token from its logits [1, V]."""
        dice, device = self._dice, self._choosing.device
        noise = dice.noise([dice.length + self._drafted], device) if isinstance(dice, SharedDice) else None
        self._drafted += 1
        return self._choosing.launch(logits, noise, self._penalties, self._drafted)


class Choosings:
    """All `Choosing` of one device. Samples with the same sampling and look share one graph."""

    def __init__(self, vocab: int, device: torch.device) -> None:
        self._vocab = vocab
        self._device = device
        self._made: dict[object, Choosing] = {}

    def of(self, sampling: Sampling, look: Look | None) -> Choosing | None:
        """Return the shared `Choosing`, or None where the drafter reads tokens one by one anyway: on a CPU, where
        reading is free, and under dice that need the values of earlier drafted tokens."""
        if self._device.type == "cpu" or not sampling.fixes_the_text:
            return None
        alike = (sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty, look)
        if alike not in self._made:
            self._made[alike] = Choosing(sampling, self._vocab, self._device, look)
        return self._made[alike]

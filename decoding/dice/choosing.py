"""Choice of a draft's tokens on a GPU. Penalty, noise, choice and the stop rule's look at the token are one CUDA graph,
so one wait covers all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.dice.dice import Dice, SharedDice, best, penalised, tempered
from decoding.dice.sampling import Sampling
from decoding.models.devices import Launched, on_its_way
from decoding.models.fast.capturing import Capturing
from decoding.models.runner import Feed, ModelRunner, SharesPasses

# scores [1, V], preferences (what the choice maximises) [1, V], token [1], number of drafted tokens with it [1] -> [n]
Look = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class LaunchedToken:
    """One drafted token whose launches may still be running. Its scores and preferences are valid until the next token
    is launched."""

    scores: Tensor  # [1, V]
    preferences: Tensor  # [1, V]
    next: Tensor  # [1], the token, for the draft's next pass
    own: Tensor  # token, probability, what the look returned: on the host once that is launched
    launched: Launched

    def read(self) -> tuple[int, float, list[float]]:
        """Wait for the token. Return it (negative: the model is broken), the draft's own probability of it, and what
        the look returned."""
        self.launched.wait()
        token, probability, *seen = self.own.tolist()
        return int(token), probability, seen


class Picker:
    """Token choice for one sampling and one look on one device. Drafts of several texts use it side by side: what
    belongs to one draft is in its `PickingPass`. Dice must be greedy or shared."""

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
        self._models: dict[SharesPasses, PickingModel] = {}

    @torch.inference_mode()
    def begin(self, runner: ModelRunner, dice: Dice) -> PickingPass:
        """Begin a draft."""
        if self._capturing and not self._graph:
            self._capture(self._capturing)
        return PickingPass(self, runner, dice)

    def after(self, model: SharesPasses) -> PickingModel:
        """Return the model whose passes choose a token."""
        return self._models.setdefault(model, PickingModel(model, self))

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
        scores, preferences, token, values = self._put_out
        return LaunchedToken(scores, preferences, token.clone(), on_its_way(values), Launched(self.device))

    @torch.inference_mode()
    def launch_all(self, drafts: Sequence[PickingPass], logits: Sequence[Tensor]) -> list[LaunchedToken]:
        """Launch the choices of several drafts, in the launches of one if nothing looks at the tokens."""
        if self._look or len(drafts) == 1:
            return [draft.launch(rows) for draft, rows in zip(drafts, logits, strict=True)]
        given = [draft.take() for draft in drafts]
        noises = [noise for noise, _, _ in given if noise is not None]
        penalties = [held for _, held, _ in given if held is not None]
        together = torch.stack(penalties) if penalties else self.penalties
        whole = torch.cat(list(logits))[:, : self._logits.shape[1]]
        scores, preferences, chosen = self._chosen(whole, torch.cat(noises) if noises else self.noise, together)
        for held, changed in zip(penalties, together, strict=False):
            held.copy_(changed)
        token = chosen.clamp(min=0)
        own, launched = on_its_way(self._values(scores, chosen, token)), Launched(self.device)
        rows = [slice(number, number + 1) for number in range(len(drafts))]
        return [LaunchedToken(scores[i], preferences[i], token[i], own[i][0], launched) for i in rows]

    def choose(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Launch the choice from logits [1, V] by `penalties` and `noise`, and note the token in `penalties`. Return
        scores, preferences, and the token [1], negative if the model is broken."""
        return self._chosen(logits, self.noise, self.penalties)

    def _chosen(self, logits: Tensor, noise: Tensor, penalties: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        penalty, scores = self.sampling.repetition_penalty, logits
        if penalty != 1.0:
            scores = penalised(scores, penalties, penalty)
        scores = tempered(scores, self.sampling)
        preferences = scores if self.sampling.is_greedy else scores + noise
        chosen = best(preferences)
        if penalty != 1.0:
            penalties.scatter_(1, chosen.clamp(min=0)[:, None], penalty)
        return scores, preferences, chosen

    @staticmethod
    def _values(scores: Tensor, chosen: Tensor, token: Tensor) -> Tensor:
        """[n, 2]: each token, negative if the model is broken, and its probability."""
        return torch.stack((chosen.double(), own_probability(scores, token).double()), 1)

    def _launches(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        scores, preferences, chosen = self.choose(self._logits)
        token = chosen.clamp(min=0)
        seen = [self._look(scores, preferences, token, self._number).double()] if self._look else []
        return scores, preferences, token, torch.cat([self._values(scores, chosen, token)[0], *seen])

    def _capture(self, capturing: Capturing) -> None:
        with capturing.aside():
            for _ in range(3):
                self._launches()
        self._graph, self._put_out = capturing.record(self._launches)


def own_probability(scores: Tensor, token: Tensor) -> Tensor:
    """The probability [n] of each token [n] by its scores [n, V], without a softmax of the vocabulary: for one row that
    takes a GPU three times as long."""
    scores = scores.float()
    return (scores - scores.gather(1, token[:, None])).exp_().sum(-1).reciprocal()


class PickingPass:
    """The passes of one draft, each with the choice of its token from the logits, which `last` then holds."""

    last: LaunchedToken

    def __init__(self, picker: Picker, runner: ModelRunner, dice: Dice) -> None:
        self.picker, self.runner = picker, runner
        self.model = picker.after(runner.model)
        self._dice = dice
        self._drafted = 0
        is_penalised = picker.sampling.repetition_penalty != 1.0
        self._penalties = dice.penalties_on(picker.device).clone() if is_penalised else None

    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        logits = self.runner.extend(tokens, need)
        self.last = self.launch(logits)
        return logits

    @torch.inference_mode()
    def launch(self, logits: Tensor) -> LaunchedToken:
        """Launch the choice of the draft's next token from its logits [1, V]."""
        return self.picker.launch(logits, *self.take())

    def take(self) -> tuple[Tensor | None, Tensor | None, int]:
        """Go on to the next token. Return its noise [1, V], the penalties [V] before it, and its number."""
        dice, device = self._dice, self.picker.device
        noise = dice.noise([dice.length + self._drafted], device) if isinstance(dice, SharedDice) else None
        self._drafted += 1
        return noise, self._penalties, self._drafted


class PickingModel:
    """A model whose passes also choose: those of several texts in one launch."""

    def __init__(self, model: SharesPasses, picker: Picker) -> None:
        self._model = model
        self._picker = picker

    def extend_all(self, feeds: Sequence[Feed]) -> list[Tensor]:
        drafts: list[PickingPass] = [reader for reader, _, _ in feeds]  # type: ignore[misc]
        own = [(draft.runner, tokens, need) for draft, (_, tokens, need) in zip(drafts, feeds, strict=True)]
        logits = self._model.extend_all(own)
        for draft, token in zip(drafts, self._picker.launch_all(drafts, logits), strict=True):
            draft.last = token
        return logits


class Pickers:
    """All pickers of one device. Samples with the same sampling and look share one graph."""

    def __init__(self, vocab: int, device: torch.device) -> None:
        self._vocab = vocab
        self._device = device
        self._made: dict[object, Picker] = {}

    def of(self, sampling: Sampling, look: Look | None) -> Picker | None:
        """Return the shared one, or None where the drafter reads tokens one by one anyway: on a CPU, where
        reading is free, and under dice that need the values of earlier drafted tokens."""
        if self._device.type == "cpu" or not sampling.fixes_the_text:
            return None
        alike = (sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty, look)
        if alike not in self._made:
            self._made[alike] = Picker(sampling, self._vocab, self._device, look)
        return self._made[alike]

"""Passes of a target that begin before the host has read what they read. On a GPU a text without drafts is decoded one
token ahead, because its passes choose their tokens themselves, and a draft is judged while its tokens are on their way.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from decoding.dice.choosing import Picker
from decoding.dice.dice import Dice, PendingVerdict, SharedDice, launch_by_choices
from decoding.dice.sampling import Sampling
from decoding.dice.verify import QueuedDraft
from decoding.models.devices import sent_to
from decoding.models.fast.runner import FastModel, FastRunner, UnreadDrafts
from decoding.models.runner import ModelRunner


class NextPicker(Picker):
    """Choice of a text's next token, within the pass that reads the one before. It is the `Follower` of a runner."""

    def __init__(self, sampling: Sampling, vocab: int, device: torch.device) -> None:
        super().__init__(sampling, vocab, device, look=None)
        self.ids, self.positions = (torch.zeros(1, dtype=torch.long, device=device) for _ in range(2))

    @property
    def changed(self) -> Sequence[Tensor]:
        return (self.penalties,)

    def next_of(self, logits: Tensor) -> Tensor:
        return self.choose(logits[:, : self.noise.shape[1]])[2]


class EarlyPasses:
    """The passes of one text. In place of logits they return what was chosen."""

    def __init__(self, runner: FastRunner, dice: Dice, end: int) -> None:
        """`end` is the length at which the text is full."""
        self._runner = runner
        self._dice = dice
        self._end = end
        self._picker = _picker(runner, dice)
        self._now: PendingVerdict
        self._next: PendingVerdict | None = None  # of the pass that was launched ahead

    @property
    def model(self) -> FastModel:
        return self._runner.model

    @torch.inference_mode()
    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        """Read the text's last token, unless a pass has read it already, and launch the next pass if the text can go on
        after the choice."""
        runner = self._runner
        self._now = self._next or self._begin(int(tokens[0]))
        runner.note(tokens)
        self._next = self._launch() if runner.length + 1 < self._end else None
        return self._picker.ids

    def launch_verdict(self, rows: Tensor, draft: object) -> PendingVerdict:
        """Return the verdict on no draft: the choice."""
        return self._now

    def _begin(self, token: int) -> PendingVerdict:
        picker, device = self._picker, self._runner.device
        picker.ids.copy_(sent_to(device, [token]))
        picker.positions.fill_(self._runner.length)
        if self._dice.sampling.repetition_penalty != 1.0:
            picker.penalties[0].copy_(self._dice.penalties_on(device))
        return self._launch()

    def _launch(self) -> PendingVerdict:
        """Launch the pass over the token that follows those that the runner has noted."""
        runner, dice = self._runner, self._dice
        if isinstance(dice, SharedDice):
            self._picker.noise.copy_(dice.noise([runner.length + 1], runner.device))
        return launch_by_choices(runner.follow(self._picker))


def early_passes_of(target: ModelRunner, dice: Dice, end: int) -> EarlyPasses | None:
    """Return the passes of a text without drafts; None where a pass cannot begin before the host has read the last
    choice: ratio dice read the logits, and other runners and texts that share passes choose on the host."""
    if not dice.sampling.fixes_the_text or not isinstance(target, FastRunner):
        return None
    return EarlyPasses(target, dice, end) if target.can_follow else None


def judging_of(target: ModelRunner, queued: QueuedDraft) -> UnreadDrafts | None:
    """Return the target's choice between both ways to judge this draft; None where its pass cannot take ids from the
    device that chose them."""
    if isinstance(target, FastRunner) and target.can_follow and queued.launched.device == target.device:
        return target.judging
    return None


def _picker(runner: FastRunner, dice: Dice) -> NextPicker:
    """Texts with the same sampling replay the same graphs."""
    sampling = dice.sampling
    alike = (sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty, dice.vocab)
    if alike not in runner.followers:
        runner.followers[alike] = NextPicker(sampling, dice.vocab, runner.device)
    found = runner.followers[alike]
    assert isinstance(found, NextPicker)
    return found

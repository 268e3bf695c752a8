"""Training: from recordings to a calibrated classifier. Training takes minutes, in matrix products of a few hundred
kB each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from decoding.disco import features, metrics
from decoding.disco.classifier import DraftClassifier, Layers
from decoding.disco.recording import Recording
from decoding.errors import BadStrategy

HIDDEN = 3  # enough for GLANCE features; the classifier answers after every drafted token
EPOCHS = 60
BATCH = 1024
STEPS = 16  # least steps per epoch: few tokens get smaller batches, or training would end too early
PATIENCE = 8
LEARNING_RATE = 3e-3
LEAST_SPREAD = 1e-6
LEAST_TOKENS = 200  # fewer labelled tokens do not suffice


@dataclass(frozen=True)
class Labelled:
    """Drafted tokens and whether each was accepted. A round's tokens end with the first refused one, because later ones
    were not judged."""

    rows: Tensor  # [n, F]
    accepted: Tensor  # [n], in [0, 1]

    def only(self, which: Tensor) -> Labelled:
        return Labelled(self.rows[which], self.accepted[which])


NOTHING = Labelled(torch.empty(0, len(features.NAMES)), torch.empty(0))


OnEpoch = Callable[[int, dict[str, float]], None]  # the epochs done, and what the last one reached


def label(recordings: Sequence[Recording]) -> Labelled:
    """Label the tokens of rounds whose drafts have no limit."""
    if not recordings:
        raise BadStrategy("There is no recording to learn from; give prompts that fit the models' context.")
    accepted = [recording.accepted for recording in recordings]
    return Labelled(torch.cat([*map(_rows_of, recordings)]), torch.cat(accepted))


def _rows_of(recording: Recording) -> Tensor:
    positions, position = list[int](), 1  # within the round
    for is_match in recording.matches.tolist():
        positions.append(position)
        position = position + 1 if is_match else 1
    return features.in_round(recording.static, torch.tensor(positions, dtype=torch.float32))


def train(
    training: Labelled,
    held_out: Labelled,
    *,
    seed: int = 0,
    columns: Sequence[str] = features.GLANCE,
    hidden: int = HIDDEN,
    kind: str = "drafted",
    on_epoch: OnEpoch = lambda done, numbers: None,
) -> DraftClassifier:
    """Fit on `training`, stop when the loss on `held_out` no longer improves, then calibrate on `held_out`. `columns`
    are the features to use. `kind` names the tokens if they do not suffice."""
    _check(training, held_out, kind)
    allowed = torch.tensor([name in columns for name in features.NAMES], dtype=torch.float32)
    mean, spread = training.rows.mean(0), training.rows.std(0)
    scale = torch.where(spread > LEAST_SPREAD, allowed / spread, 0.0)  # a column that never changes teaches nothing
    dice = torch.Generator().manual_seed(seed)
    weights = [
        torch.randn(hidden, len(features.NAMES), generator=dice) * (2 / len(columns)) ** 0.5,
        torch.zeros(hidden),
        torch.randn(1, hidden, generator=dice) * (1 / hidden) ** 0.5,
        torch.zeros(1),
    ]
    best = _fit(
        weights, (training.rows - mean) * scale, training, (held_out.rows - mean) * scale, held_out, dice, on_epoch
    )
    weight, bias, out, out_bias = best
    folded = Layers(weight * scale, bias - (weight * scale) @ mean, out, out_bias)
    return DraftClassifier(folded.scaled(*platt(DraftClassifier(folded), held_out)))


def can_teach(part: Labelled) -> bool:
    """Whether the tokens are enough, and of both kinds."""
    return len(part.rows) >= LEAST_TOKENS and 0.0 < float(part.accepted.mean()) < 1.0


def _check(training: Labelled, held_out: Labelled, kind: str) -> None:
    for name, part in (("training", training), ("held-out", held_out)):
        if len(part.rows) < LEAST_TOKENS:
            raise BadStrategy(
                f"The {name} prompts give {len(part.rows)} {kind} tokens and at least {LEAST_TOKENS} are needed; "
                "use more prompts or more new tokens."
            )
        share = float(part.accepted.mean())
        if share in (0.0, 1.0):
            raise BadStrategy(
                f"Of the {kind} {name} tokens {'all' if share else 'none'} were accepted, so there is nothing to tell "
                "apart; use another draft or other prompts."
            )
        if not bool(torch.isfinite(part.rows).all()):
            raise BadStrategy(
                f"Some features of the {name} prompts are NaN or infinite, so the draft's logits are broken there; "
                "check the draft's checkpoint."
            )


def _fit(
    weights: list[Tensor],
    rows: Tensor,
    training: Labelled,
    held_out_rows: Tensor,
    held_out: Labelled,
    dice: torch.Generator,
    on_epoch: OnEpoch,
) -> list[Tensor]:
    for weight in weights:
        weight.requires_grad_()
    network = Layers(*weights)
    optimiser = torch.optim.Adam(weights, LEARNING_RATE)
    batch_size = min(BATCH, len(rows) // STEPS)
    best, best_loss, waited = [w.detach().clone() for w in weights], float("inf"), 0
    for epoch in range(EPOCHS):
        losses = []
        for batch in torch.split(torch.randperm(len(rows), generator=dice), batch_size):
            logits = network.logits(rows[batch])
            loss = F.binary_cross_entropy_with_logits(logits, training.accepted[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(loss.detach())
        with torch.no_grad():
            logits = network.logits(held_out_rows)
            now = float(F.binary_cross_entropy_with_logits(logits, held_out.accepted))
        f1 = metrics.f1(logits > 0, held_out.accepted)
        mean = float(torch.stack(losses).mean())
        on_epoch(epoch + 1, {"train_loss": mean, "held_out_loss": now, "held_out_f1": f1})
        waited += 1
        if now < best_loss:
            best, best_loss, waited = [w.detach().clone() for w in weights], now, 0
        if waited >= PATIENCE:
            break
    return best


def platt(classifier: DraftClassifier, tokens: Labelled) -> tuple[float, float]:
    """Return the scale and the shift of the logit with which the estimates of these tokens match frequencies."""
    logits = torch.logit(classifier(tokens.rows), eps=1e-6)
    scale, shift = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, shift], max_iter=50)

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.binary_cross_entropy_with_logits(logits * scale + shift, tokens.accepted)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    return float(scale.detach()), float(shift.detach())

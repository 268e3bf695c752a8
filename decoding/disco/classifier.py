"""Stop/continue classifier: two layers, stored as safetensors beside a card in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from decoding.disco import features, judging
from decoding.disco.prices import Prices, prices_at, threshold_in
from decoding.errors import BadStrategy
from decoding.prices.cost_model import CostModel

GREEDY = "greedy"  # the calibration's part of the card
Unit = tuple[float, float, float, float]  # weights of margin and score, the bias, the weight in the output


class Layers(NamedTuple):
    """A network of two layers. The weights include standardisation and calibration; columns that it does not use have
    weights of zero."""

    hidden: Tensor  # [H, F]
    hidden_bias: Tensor  # [H]
    out: Tensor  # [1, H]
    out_bias: Tensor  # [1]

    def logits(self, rows: Tensor) -> Tensor:
        """Estimate many tokens: [n, F] -> [n]."""
        hidden = torch.addmm(self.hidden_bias, rows, self.hidden.T).relu_()
        return torch.addmm(self.out_bias, hidden, self.out.T)[:, 0]

    def scaled(self, scale: float, shift: float) -> Layers:
        """Scale and shift the logit of every estimate."""
        return self._replace(out=self.out * scale, out_bias=self.out_bias * scale + shift)

    @property
    def sees(self) -> set[str]:
        """Names of the features that it uses."""
        return {features.NAMES[column] for column in self.hidden.any(0).nonzero()[:, 0].tolist()}


@dataclass
class DraftClassifier:
    """Probability that a token of a draft is accepted, if all before it are. Copied tokens may have a network of their
    own."""

    drafted: Layers  # also of copied tokens, if there is no other network
    copied: Layers | None = None
    card: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None  # of the run that uses it
    units: dict[int, list[Unit]] = field(default_factory=dict, repr=False, compare=False)
    _glances_on: dict[torch.device, list[Tensor]] = field(default_factory=dict, repr=False, compare=False)

    @torch.inference_mode()
    def __call__(self, rows: Tensor) -> Tensor:
        """Estimate many tokens: [n, F] -> [n]."""
        logits = self.drafted.logits(rows)
        if self.copied:
            logits = torch.where(rows[:, features.COPIED] > 0.0, self.copied.logits(rows), logits)
        return logits.sigmoid_()

    @torch.inference_mode()
    def of_rounds(self, rounds: Tensor) -> Tensor:
        """Estimate each token of `Recording.rounds`: [N, cap]."""
        count, cap, _ = rounds.shape
        position = torch.arange(1.0, cap + 1).expand(count, -1)
        table = features.in_round(rounds.flatten(0, 1), position.flatten())
        return self(table).view(count, cap)

    def scaled(self, scale: float, shift: float) -> DraftClassifier:
        """Scale and shift the logit of a drafted token's estimate."""
        return DraftClassifier(self.drafted.scaled(scale, shift), self.copied)

    def quickly(self, margin: float, score: float, ahead: int) -> float:
        """Estimate one token by GLANCE features alone, which a draft has so many tokens before."""
        logit = self._bias
        for of_margin, of_score, bias, weight in self.units.get(ahead) or self.unrolled(ahead):
            hidden = of_margin * margin + of_score * score + bias
            if hidden > 0.0:
                logit += weight * hidden
        return 1.0 / (1.0 + exp(-logit)) if logit > -700.0 else 0.0

    def unrolled(self, ahead: int) -> list[Unit]:
        """Return the hidden units of a classifier that uses GLANCE features alone. Their biases include the position.
        `units` caches them, because few positions occur."""
        hidden, hidden_bias, out, _ = self.drafted
        weights, says = hidden.double(), out[0].tolist()

        def of(name: str) -> Tensor:
            return weights[:, features.NAMES.index(name)]

        biases = hidden_bias + of("position") * ((ahead + 1) / judging.POSITION_SCALE)
        made = list(zip(of("margin").tolist(), of("score").tolist(), biases.tolist(), says, strict=True))
        self.units[ahead] = made
        return made

    def glance(self, scores: Tensor, preferences: Tensor, token: Tensor, number: Tensor) -> Tensor:
        """Estimate one token [1] by GLANCE features alone: [1]. It was chosen from `scores` by `preferences` [1, V],
        and is the draft's `number`th [1]. Launches on the device of the scores and does not wait."""
        if scores.device not in self._glances_on:
            hidden, *others = self.drafted
            columns = hidden[:, [features.NAMES.index(name) for name in features.GLANCE]]
            parts = (columns.T, *others)
            self._glances_on[scores.device] = [part.to(scores.device) for part in parts]
        weights, bias, says, last = self._glances_on[scores.device]
        margin, score = features.margin_and_score(scores, preferences, token)
        seen = torch.cat((margin, score, number[:, None] / judging.POSITION_SCALE), -1)
        hidden = (seen.T * weights).sum(0) + bias  # only three numbers, so a matrix product would cost more to set up
        return ((hidden.relu() * says).sum(-1) + last).sigmoid()

    @cached_property
    def glances(self) -> bool:
        """Whether the classifier uses GLANCE features alone of a drafted token, which cost next to nothing."""
        return self.sees <= {*features.GLANCE, *judging.MATCHES}

    @cached_property
    def knows_copies(self) -> bool:
        """Whether it has learned from copied tokens too."""
        return not self.sees.isdisjoint(judging.MATCHES)

    @cached_property
    def sees(self) -> set[str]:
        """Names of the features that it uses."""
        return self.drafted.sees.union(self.copied.sees if self.copied else ())

    @cached_property
    def _bias(self) -> float:
        return float(self.drafted.out_bias)

    @cached_property
    def greedy(self) -> DraftClassifier:
        """The classifier as it estimates under greedy decoding."""
        found = Calibration.of(self.card)
        return found.corrected(self) if found else self

    def at(self, costs: CostModel) -> DraftClassifier:
        """Return this classifier with its prices at these costs, used where they lie far from its card's."""
        return replace(self, prices=prices_at(self.card, costs))

    @property
    def costs(self) -> Mapping[str, Any] | None:
        """Prices at which its prices hold."""
        return (self.prices and self.prices.own_costs) or self.card.get("costs")

    def tuned(self, rule: str) -> float:
        """Threshold of a rule: the run's own where that is in use, otherwise the one that replay found best when this
        classifier was made."""
        return threshold_in(self.card, self.prices, rule)

    def save(self, folder: Path) -> None:
        """Write both files under temporary names first, so that no reader finds half a classifier."""
        folder.mkdir(parents=True, exist_ok=True)
        weights, card = folder / "classifier.safetensors", folder / "card.json"
        tensors = dict(zip(judging.TENSORS, self.drafted, strict=True))
        if self.copied:
            tensors |= zip(judging.TENSORS_OF_COPIES, self.copied, strict=True)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, f"{weights}.part")
        Path(f"{card}.part").write_text(json.dumps(self.card, indent=2) + "\n")
        Path(f"{weights}.part").replace(weights)
        Path(f"{card}.part").replace(card)


@dataclass(frozen=True)
class Calibration:
    """Correction for greedy decoding of a classifier that was trained at a temperature: of a drafted token's logit, and
    the thresholds that belong to it. Where nothing is drawn, a sure draft is right more often than its classifier has
    learnt, and an unsure one less."""

    scale: float
    shift: float
    thresholds: Mapping[str, float]
    sweep: Mapping[str, Any]  # what rounds look like by the threshold of the priced rule
    sampling: Mapping[str, Any]  # of the texts that it was fitted on
    labelled: int  # tokens of them

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Calibration | None:
        """Read it from a card; None if the card has none, or was made by hand."""
        try:
            found = cls(**card[GREEDY])
            is_usable = found.scale > 0 and isinstance(found.shift, float) and {**found.thresholds, **found.sweep}
            return found if is_usable else None
        except (KeyError, TypeError):
            return None

    def corrected(self, classifier: DraftClassifier) -> DraftClassifier:
        card = {**classifier.card, "sampling": self.sampling}
        card |= {name: {**(card.get(name) or {}), **getattr(self, name)} for name in ("thresholds", "sweep")}
        return replace(classifier.scaled(self.scale, self.shift), card=card, prices=classifier.prices)


def load_classifier(folder: Path, pair: Sequence[str] | None = None, *, or_alone: bool = False) -> DraftClassifier:
    """Load a classifier. `pair` are the fingerprints of the target and draft that will use it. `or_alone`: take one
    that was trained on a target alone too."""
    if not folder.is_dir():
        raise BadStrategy(
            f"The classifier {folder} is not there: no such folder. Name one that train-disco has stored."
        )
    try:
        card = json.loads((folder / "card.json").read_text())
        tensors = load_file(folder / "classifier.safetensors")
        drafted = Layers(*(tensors[name] for name in judging.TENSORS))
        has_copied = judging.TENSORS_OF_COPIES[0] in tensors
        copied = Layers(*(tensors[name] for name in judging.TENSORS_OF_COPIES)) if has_copied else None
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise BadStrategy(
            f"The classifier in {folder.name} cannot be read ({error}); it may be torn. Train it again."
        ) from None
    names = card.get("features") or []
    try:
        made = DraftClassifier(_widened(drafted, names), copied and _widened(copied, names), card)
    except ValueError:
        raise BadStrategy(
            f"The classifier in {folder.name} reads other features than this version computes; train it again."
        ) from None
    if pair is not None and card.get("pair") not in ([list(pair), []] if or_alone else [list(pair)]):
        raise BadStrategy(
            f"The classifier in {folder.name} was trained for another pair of models, whose confidence means "
            "something else; train one for this pair."
        )
    return made


def _widened(layers: Layers, names: Sequence[str]) -> Layers:
    """Give it a column for each feature that this version knows, and no other. Those that its version did not know
    weigh nothing. Raise ValueError if it uses a feature that this version does not compute."""
    columns = layers.hidden.new_zeros(len(layers.hidden), len(features.NAMES))
    for name, weights in zip(names, layers.hidden.T, strict=True):
        if name in features.NAMES:
            columns[:, features.NAMES.index(name)] = weights
        elif weights.any():
            raise ValueError(name)
    return layers._replace(hidden=columns)

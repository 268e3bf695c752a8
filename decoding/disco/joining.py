"""One classifier made of two: for drafted tokens it answers as the first does, for copied tokens as the second."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from decoding.disco import features, training
from decoding.disco.classifier import Classifier
from decoding.disco.judging import FARTHEST

POSITION, COPIED = features.NAMES.index("position"), features.NAMES.index("copied")


def joined(drafted: Classifier, copied: Classifier) -> Classifier:
    """Join both. A drafted token's features of a match are 0, so a unit that only the feature `copied` activates is 0
    for it. Three kinds of such units answer for a copied token: those of `copied`, those that take away what the units
    of `drafted` say of a position, and one for the difference of the two biases."""
    hidden, biases = _only_for_copies(
        torch.cat((copied.hidden, _of_position(drafted.hidden))), torch.cat((copied.hidden_bias, drafted.hidden_bias))
    )
    switch = torch.zeros(1, len(features.NAMES))
    switch[0, COPIED] = 1.0
    return Classifier(
        torch.cat((drafted.hidden, hidden, switch)),
        torch.cat((drafted.hidden_bias, biases, torch.zeros(1))),
        torch.cat((drafted.out, copied.out, -drafted.out, (copied.out_bias - drafted.out_bias)[None]), 1),
        drafted.out_bias,
    )


def parted(classifier: Classifier) -> Sequence[Classifier]:
    """Return the two that were joined, or the classifier itself if it was not made of two."""
    of_drafts = int((classifier.hidden[:, COPIED] == 0.0).sum())
    first, last = of_drafts, len(classifier.hidden) - of_drafts - 1
    if not first or last <= first:
        return (classifier,)
    hidden, lifted = classifier.hidden[first:last].clone(), classifier.hidden[first:last, COPIED]
    hidden[:, COPIED] = 0.0
    return (
        Classifier(
            classifier.hidden[:first], classifier.hidden_bias[:first], classifier.out[:, :first], classifier.out_bias
        ),
        Classifier(
            hidden,
            classifier.hidden_bias[first:last] + lifted,
            classifier.out[:, first:last],
            classifier.out_bias + classifier.out[0, -1:],
        ),
    )


def scaled(classifier: Classifier, scale: float, shift: float) -> Classifier:
    """Scale and shift the logit of a drafted token's estimate. Those of copied tokens stay."""
    drafted, *copied = parted(classifier)
    made = training.scaled(drafted, scale, shift)
    return joined(made, *copied) if copied else made


def _of_position(hidden: Tensor) -> Tensor:
    kept = torch.zeros_like(hidden)
    kept[:, POSITION] = hidden[:, POSITION]
    return kept


def _only_for_copies(hidden: Tensor, biases: Tensor) -> tuple[Tensor, Tensor]:
    """Lower each unit's bias so far that no position lifts it, and give the feature `copied` that weight."""
    weight = biases.abs() + hidden[:, POSITION].abs() * FARTHEST + 1.0
    lifted = hidden.clone()
    lifted[:, COPIED] += weight
    return lifted, biases - weight

"""Copied tokens for a classifier: their features, labels for its training, and its estimates of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch

from decoding.disco import features
from decoding.disco.classifier import Classifier
from decoding.disco.recording import Recording
from decoding.disco.training import Labelled
from decoding.errors import BadStrategy
from decoding.proposing import Match
from decoding.strategies.disco_lookup import JudgedLookup
from decoding.strategies.lookup import NGRAM
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import LONGEST

RULE = "copied"  # the threshold for copies, on the card
BEFORE = features.NAMES.index("position")


def row_of(match: Match, ahead: int) -> list[float]:
    """Features of a copied token with so many tokens of the draft before it."""
    position = (ahead + 1) / features.POSITION_SCALE
    return [*[0.0] * BEFORE, position, 1.0, log(match.length), log(match.times), match.times / match.total]


class Judge:
    """Estimates copied tokens. Few combinations of features occur, so it remembers its answers."""

    def __init__(self, classifier: Classifier) -> None:
        if not classifier.knows_copies:
            raise BadStrategy(
                "This classifier has learned nothing about copied tokens; train one with the design sources: "
                "train-disco --design sources."
            )
        self._classifier = classifier
        self._known: dict[tuple[Match, int], float] = {}

    @property
    def threshold(self) -> float:
        return self._classifier.tuned(RULE)

    def __call__(self, match: Match, ahead: int) -> float:
        asked = match, ahead
        if asked not in self._known:
            self._known[asked] = self._classifier.one(row_of(match, ahead))
        return self._known[asked]


def with_copies(labelled: Labelled, recordings: Sequence[Recording]) -> Labelled:
    """Add the tokens that suffix decoding and prompt lookup would have copied in the same texts, up to each round's
    first refusal."""
    rows, accepted, prompts = list[list[float]](), list[float](), list[int]()
    for number, recording in enumerate(recordings):
        for row, label in _copied(recording):
            rows.append(row)
            accepted.append(label)
            prompts.append(number)
    if not rows:
        return labelled
    return Labelled(
        torch.cat((labelled.rows, torch.tensor(rows))),
        torch.cat((labelled.accepted, torch.tensor(accepted))),
        torch.cat((labelled.prompts, torch.tensor(prompts))),
    )


def _copied(recording: Recording) -> list[tuple[list[float], float]]:
    proposers = SuffixDecoding(0.0, LONGEST), JudgedLookup(0.0, LONGEST, int(NGRAM.default))
    return [each for proposer in proposers for each in _copied_by(proposer, recording)]


def _copied_by(proposer: SuffixDecoding | JudgedLookup, recording: Recording) -> list[tuple[list[float], float]]:
    found = list[tuple[list[float], float]]()
    prompt, text = recording.tokens[: recording.prompt_tokens], recording.tokens[recording.prompt_tokens :]
    at = 0
    while at < len(text):
        proposer.follow([*prompt, *text[:at]])
        start, tokens = at, proposer.propose()
        for ahead, (token, match) in enumerate(zip(tokens, proposer.matches, strict=True)):
            if start + ahead >= len(text):
                break
            is_right = token == text[start + ahead]
            found.append((row_of(match, ahead), float(is_right)))
            if not is_right:
                break
            at += 1
        at += 1
    return found

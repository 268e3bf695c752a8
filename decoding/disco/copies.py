"""Copied tokens for a classifier: their features, labels for its training, and its judge of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from decoding.disco import features
from decoding.disco.classifier import DraftClassifier
from decoding.disco.judging import SEEN, CopyJudge, seen_of
from decoding.disco.recording import Recording
from decoding.disco.training import Labelled
from decoding.drafting.source import Match
from decoding.drafting.strategy import LONGEST
from decoding.strategies.lookup import NGRAM, JudgedLookup
from decoding.strategies.suffix import SuffixDecoding

BEFORE = features.NAMES.index(SEEN[0])  # features of a drafted token alone


def row_of(match: Match, ahead: int) -> list[float]:
    """Features of a copied token with so many tokens of the draft before it."""
    return [*[0.0] * BEFORE, *seen_of(match, ahead)]


def judge_of(classifier: DraftClassifier) -> CopyJudge:
    """Make the judge of a classifier. Raise BadStrategy if it has learned nothing about copied tokens."""
    layers, columns = classifier.copied or classifier.drafted, [features.NAMES.index(name) for name in SEEN]
    rows = layers.hidden[:, columns].tolist()
    units = list(zip(rows, layers.hidden_bias.tolist(), layers.out[0].tolist(), strict=True))
    return CopyJudge(units, float(layers.out_bias), classifier.card, classifier.prices)


def judge_if_any(classifier: DraftClassifier | None) -> CopyJudge | None:
    """Make the judge of a classifier; None if there is no classifier or it knows nothing about copied tokens."""
    return judge_of(classifier) if classifier and classifier.knows_copies else None


def with_copies(labelled: Labelled, recordings: Sequence[Recording]) -> Labelled:
    """Add the tokens that suffix decoding and prompt lookup would have copied in the same texts, up to each round's
    first refusal."""
    copied = [each for recording in recordings for each in _copied(recording)]
    if not copied:
        return labelled
    rows, accepted = (torch.tensor(column) for column in zip(*copied, strict=True))
    return Labelled(torch.cat((labelled.rows, rows)), torch.cat((labelled.accepted, accepted)))


def _copied(recording: Recording) -> list[tuple[list[float], float]]:
    sources = SuffixDecoding(0.0, LONGEST), JudgedLookup(0.0, LONGEST, int(NGRAM.default))
    return [each for source in sources for each in _copied_by(source, recording)]


def _copied_by(source: SuffixDecoding, recording: Recording) -> list[tuple[list[float], float]]:
    found = list[tuple[list[float], float]]()
    prompt, text = recording.tokens[: recording.prompt_tokens], recording.tokens[recording.prompt_tokens :]
    at = 0
    while at < len(text):
        source.follow([*prompt, *text[:at]])
        start, tokens = at, source.copied()
        for ahead, (token, match) in enumerate(zip(tokens, source.matches, strict=True)):
            if start + ahead >= len(text):
                break
            is_right = token == text[start + ahead]
            found.append((row_of(match, ahead), float(is_right)))
            if not is_right:
                break
            at += 1
        at += 1
    return found

"""Designs of a classifier: which networks are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.backends.without_draft import lacks_draft
from decoding.disco import features, judging, training
from decoding.disco.cards import OURS, PAPER, SOURCES
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import with_copies
from decoding.disco.recording import Recording
from decoding.disco.training import Labelled, Progress
from decoding.errors import BadPair


@dataclass(frozen=True)
class Network:
    columns: Sequence[str]  # the features that it sees
    hidden: int


GLANCING = Network(features.GLANCE, training.HIDDEN)
OF_COPIES = Network(judging.SEEN, 16)
NETWORKS = {
    OURS: GLANCING,
    SOURCES: GLANCING,  # beside one of copies
    PAPER: Network(features.PUBLISHED, 64),  # the paper does not give the width of its network
}


def check(design: str, is_undrafted: bool) -> None:
    """Refuse on a target alone a design that learns from drafts only."""
    if is_undrafted and design != SOURCES:
        what = lacks_draft(f"A classifier of the design {design}")
        raise BadPair(f"{what} Take the design {SOURCES}, which learns from copies too.")


def label(design: str, recordings: Sequence[Recording]) -> Labelled:
    """Label the tokens that a design learns from."""
    is_drafted = any(recording.is_drafted for recording in recordings)
    labelled = training.label(recordings) if is_drafted else training.NOTHING
    return with_copies(labelled, recordings) if design == SOURCES else labelled


def judged(labelled: Labelled) -> Labelled:
    """Return the tokens by which a card judges: drafted ones, and on a target alone copied ones. A figure over both
    would depend on how many there are of each."""
    drafts, copies = _by_kind(labelled)
    return drafts if len(drafts.rows) else copies


def train(
    design: str,
    part: Labelled,
    held_out: Labelled,
    *,
    is_undrafted: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> DraftClassifier:
    """Train the network of drafted tokens, and with the design `sources` one of copied tokens beside it; on a target
    alone the latter only. `on_progress` follows the first."""
    if is_undrafted:
        return _trained(OF_COPIES, part, held_out, on_progress)
    if design != SOURCES:
        return _trained(NETWORKS[design], part, held_out, on_progress)
    (drafts, copies), (held_drafts, held_copies) = _by_kind(part), _by_kind(held_out)
    drafted = _trained(NETWORKS[design], drafts, held_drafts, on_progress)
    return DraftClassifier(drafted.drafted, _trained(OF_COPIES, copies, held_copies).drafted)


def _trained(
    network: Network,
    part: Labelled,
    held_out: Labelled,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> DraftClassifier:
    kind = "copied" if network is OF_COPIES else "drafted"
    return training.train(
        part, held_out, columns=network.columns, hidden=network.hidden, kind=kind, on_progress=on_progress
    )


def _by_kind(labelled: Labelled) -> tuple[Labelled, Labelled]:
    """Divide the tokens into drafted and copied ones."""
    is_copied = labelled.rows[:, features.COPIED] > 0.0
    return labelled.only(~is_copied), labelled.only(is_copied)

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


@dataclass(frozen=True)
class How:
    """Design to train."""

    design: str = OURS

    def network(self, *, is_undrafted: bool = False) -> Network:
        """Return the network of drafted tokens; on a target alone that of copies, since nothing is drafted."""
        return OF_COPIES if is_undrafted else NETWORKS[self.design]

    def label(self, recordings: Sequence[Recording]) -> Labelled:
        """Label the tokens that this design learns from."""
        is_drafted = any(recording.is_drafted for recording in recordings)
        labelled = training.label(recordings) if is_drafted else training.NOTHING
        return with_copies(labelled, recordings) if self.design == SOURCES else labelled

    def judged(self, labelled: Labelled) -> Labelled:
        """Return the tokens by which a card judges: drafted ones, and on a target alone copied ones. A figure over both
        would depend on how many there are of each."""
        drafts, copies = _by_kind(labelled)
        return drafts if len(drafts.rows) else copies

    def check(self, is_undrafted: bool = False) -> None:
        """Refuse on a target alone a design that learns from drafts only."""
        if is_undrafted and self.design != SOURCES:
            what = lacks_draft(f"A classifier of the design {self.design}")
            raise BadPair(f"{what} Take the design {SOURCES}, which learns from copies too.")

    def train(
        self,
        network: Network,
        part: Labelled,
        held_out: Labelled,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> DraftClassifier:
        """Train this network. With the design `sources`, train one for copied tokens beside it. `on_progress` follows
        the first."""

        def trained(one: Network, part: Labelled, held_out: Labelled) -> DraftClassifier:
            return training.train(
                part,
                held_out,
                columns=one.columns,
                hidden=one.hidden,
                kind="copied" if one is OF_COPIES else "drafted",
                on_progress=on_progress if one is network else lambda progress: None,
            )

        if self.design != SOURCES or network is OF_COPIES:
            return trained(network, part, held_out)
        (drafts, copies), (held_drafts, held_copies) = _by_kind(part), _by_kind(held_out)
        drafted, copied = trained(network, drafts, held_drafts), trained(OF_COPIES, copies, held_copies)
        return DraftClassifier(drafted.drafted, copied.drafted)


def _by_kind(labelled: Labelled) -> tuple[Labelled, Labelled]:
    """Divide the tokens into drafted and copied ones."""
    is_copied = labelled.rows[:, features.COPIED] > 0.0
    return labelled.only(~is_copied), labelled.only(is_copied)


USUAL = How()

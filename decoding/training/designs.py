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
    name: str  # by which the pair holds the candidate
    columns: Sequence[str]  # the features that it sees
    hidden: int


# Of our two networks the one with echoes is more accurate and slower, so it pays if a drafted token is expensive.
# Replay decides which one to keep (docs/decisions/0017). The paper does not give the width of its network.
OF_DRAFTS = (
    Network("one that hears echoes", features.QUICK, training.HIDDEN),
    Network("one that takes a glance", features.GLANCE, 3),
)
OF_COPIES = Network("one that hears matches", judging.SEEN, 2 * training.HIDDEN)
NETWORKS: dict[str, tuple[Network, ...]] = {
    OURS: OF_DRAFTS,
    SOURCES: OF_DRAFTS,  # each beside one of copies
    PAPER: (Network("one as published", features.PUBLISHED, 64),),
}


@dataclass(frozen=True)
class How:
    """Design to train."""

    design: str = OURS

    def networks(self, *, is_undrafted: bool = False) -> tuple[Network, ...]:
        """Return the candidates. On a target alone there is one: nothing is drafted."""
        return (OF_COPIES,) if is_undrafted else NETWORKS[self.design]

    def looks_at(self, network: Network) -> list[str]:
        """Return the features that a classifier with this network sees."""
        more = OF_COPIES.columns if self.design == SOURCES else ()
        return [name for name in features.NAMES if name in (*network.columns, *more)]

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
        networks: Sequence[Network],
        part: Labelled,
        held_out: Labelled,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> list[DraftClassifier]:
        """Train these networks. With the design `sources`, train one for copied tokens too, and give it to each.
        `on_progress` follows the first network."""

        def trained(network: Network, part: Labelled, held_out: Labelled) -> DraftClassifier:
            return training.train(
                part,
                held_out,
                columns=network.columns,
                hidden=network.hidden,
                kind="copied" if network is OF_COPIES else "drafted",
                on_progress=on_progress if network is networks[0] else lambda progress: None,
            )

        if self.design != SOURCES or networks[0] is OF_COPIES:
            return [trained(network, part, held_out) for network in networks]
        (drafts, copies), (held_drafts, held_copies) = _by_kind(part), _by_kind(held_out)
        drafted = [trained(network, drafts, held_drafts) for network in networks]
        copied = trained(OF_COPIES, copies, held_copies)
        return [DraftClassifier(each.drafted, copied.drafted) for each in drafted]


def _by_kind(labelled: Labelled) -> tuple[Labelled, Labelled]:
    """Divide the tokens into drafted and copied ones."""
    is_copied = labelled.rows[:, features.COPIED] > 0.0
    return labelled.only(~is_copied), labelled.only(is_copied)


USUAL = How()

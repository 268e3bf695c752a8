"""Designs of a classifier: which networks are trained, and from where a training begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.disco import features, judging, training
from decoding.disco.cards import OURS, PAPER, SOURCES
from decoding.disco.classifier import Classifier
from decoding.disco.copies import with_copies
from decoding.disco.recording import Recording
from decoding.disco.training import Labelled, Progress
from decoding.errors import BadStrategy


@dataclass(frozen=True)
class Network:
    name: str  # by which the pair holds the candidate
    columns: Sequence[str]  # the features that it sees
    hidden: int

    def fits(self, start: Classifier) -> bool:
        """Whether a training of this network can begin from that classifier."""
        return len(start.hidden) == self.hidden and start.sees <= set(self.columns)


# Of our two networks the one with echoes is more accurate and slower, so it pays if a drafted token is expensive.
# Replay decides which one to keep (docs/decisions/0029). The paper does not give the width of its network.
NETWORKS: dict[str, tuple[Network, ...]] = {
    OURS: (
        Network("one that hears echoes", features.QUICK, training.HIDDEN),
        Network("one that takes a glance", features.GLANCE, 3),
    ),
    SOURCES: (Network("one that hears matches", (*features.QUICK, *judging.MATCHES), 2 * training.HIDDEN),),
    PAPER: (Network("one as published", features.PUBLISHED, 64),),
}


@dataclass(frozen=True)
class How:
    """Design to train, and another pair's classifier to begin from."""

    design: str = OURS
    start: Classifier | None = None

    @property
    def networks(self) -> tuple[Network, ...]:
        return NETWORKS[self.design]

    def label(self, recordings: Sequence[Recording]) -> Labelled:
        """Label the tokens that this design learns from."""
        labelled = training.label(recordings)
        return with_copies(labelled, recordings) if self.design == SOURCES else labelled

    def check(self) -> None:
        if self.start and not any(network.fits(self.start) for network in self.networks):
            raise BadStrategy(
                f"The classifier to start from sees {', '.join(sorted(self.start.sees))} with {len(self.start.hidden)} "
                f"hidden units, which is not the design {self.design}; start from a classifier of that design."
            )

    def train(
        self,
        network: Network,
        part: Labelled,
        held_out: Labelled,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Classifier:
        start = self.start if self.start and network.fits(self.start) else None
        return training.train(
            part, held_out, columns=network.columns, hidden=network.hidden, start=start, on_progress=on_progress
        )


USUAL = How()

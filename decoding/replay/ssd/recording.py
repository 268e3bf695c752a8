"""Make what the simulator plays from: a track from a recording, a plan from a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoding.choice import Choice
from decoding.disco.classifier import DraftClassifier
from decoding.disco.echoes import Echoes
from decoding.disco.recording import Recording
from decoding.drafting.records import Written
from decoding.replay.ssd.playing import Track
from decoding.ssd.policy.ssd_policy import Plan, echo_of
from decoding.ssd.speculator.speculator import plan_for


def plan_of(choice: Choice, vocab: int, classifier: DraftClassifier | None) -> Plan:
    """The plan of a choice that prepares ahead. The classifier counts only if the strategy asks one."""
    assert choice.ahead, f"{choice.label} prepares nothing ahead"
    return plan_for(choice.ahead, vocab, None if choice.classifier is None else classifier)


def track_of(recording: Recording, estimates: Sequence[Sequence[float]] = ()) -> Track:
    """Make a track of a recorded text, which the dice must fix (greedy or shared). `estimates` are a classifier's for
    each token of a round that starts at each position."""
    written = recording.written
    return Track(
        recording.record,
        recording.prompt_tokens,
        written=written,
        preferred=recording.preferred.tolist(),
        seed=recording.seed,
        estimates=estimates,
        echoes=[*_echoes(written)] if estimates else (),
    )


def _echoes(written: Written) -> Iterator[tuple[int, int]]:
    echoes = Echoes()
    echoes.follow(written.prompt)
    for token in written.text:
        echo, length = echo_of(echoes)
        yield echo or 0, length
        echoes.take(token)

"""Make what the simulator plays from: a track from a recording, a plan from a choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from decoding.choice import Choice
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.disco.echoes import Echoes
from decoding.disco.recording import Recording
from decoding.drafting.records import Written
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.replay.ssd.playing import Plan
from decoding.replay.ssd.track import Track
from decoding.ssd.backups import random_tokens
from decoding.ssd.copying import copier
from decoding.ssd.policy.ssd_policy import TokenPrices, echo_of


def plan_for(settings: SpeculatorSettings, vocab: int, classifier: DraftClassifier | None = None) -> Plan:
    return Plan(
        settings,
        TokenPrices.of(classifier),
        partial(random_tokens, vocab=vocab),
        partial(copier, settings, judge_if_any(classifier)),
    )


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

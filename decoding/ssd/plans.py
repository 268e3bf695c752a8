"""From the settings that a choice asks for to what the simulator goes by: the same planner, the same backups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.events import Backup
from decoding.ssd.backups import echoed, random_tokens
from decoding.ssd.drawing import share_of_a_row
from decoding.ssd.pace import Pace
from decoding.ssd.planning import planner_for
from decoding.ssd.settings import Settings
from decoding.ssd.simulated import Plan, WithoutModel
from decoding.ssd.track import Track


def plan_for(settings: Settings, vocab: int, classifier: Classifier | None = None) -> Plan:
    def random(track: Track, at: int, count: int) -> Sequence[int]:
        return random_tokens(track.seed, [*track.prompt, *track.text[:at]], count, vocab)

    backups: dict[str, dict[Backup, WithoutModel]] = {
        "auto": {"ngram": _echoed},
        "ngram": {"ngram": _echoed},
        "random": {"random": random},
    }
    price = classifier.tuned("priced") if classifier else 0.0
    return Plan(
        lookahead=settings.lookahead,
        planner=lambda: planner_for(settings, by_estimates=classifier is not None),
        pace=partial(Pace, settings.backup),
        without_model=backups.get(settings.backup, {}),
        has_estimates=classifier is not None,
        price_alone=price,
        price_beside=price * share_of_a_row(classifier) if classifier else 0.0,
    )


def _echoed(track: Track, at: int, count: int) -> Sequence[int]:
    echoes = Echoes()
    echoes.follow([*track.prompt, *track.text[:at]])
    return echoed(echoes, count)

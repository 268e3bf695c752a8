"""What the draft preferred along a target's text: what the simulator plays from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import torch

from decoding.dice import Dice
from decoding.disco.classifier import Classifier
from decoding.disco.echoes import Echoes
from decoding.drafting import read_prompt
from decoding.events import Backup
from decoding.replay import Record
from decoding.runner import ModelRunner
from decoding.ssd.backups import echoed, random_tokens
from decoding.ssd.policy.pace import Pace
from decoding.ssd.policy.planner import RANKS, planner_for
from decoding.ssd.settings import Settings
from decoding.ssd.simulation.playing import Plan, WithoutModel
from decoding.ssd.simulation.track import Track
from decoding.ssd.speculator.drawing import share_of_a_row


@torch.inference_mode()
def follow(
    tokens: Sequence[int],
    text: Sequence[int],
    record: Record,
    *,
    draft: ModelRunner,
    dice: Dice,
    room: int,
    end_tokens: Collection[int],
    branches: int,
    estimates: Sequence[Sequence[float]] = (),
) -> Track:
    """Run the draft once along `text`, which the target has written after `tokens`, and keep as many of its best
    tokens at each place as any fan-out of so many branches can ask for. `dice` is new, with the sample's seed, and
    the text's choices must be fixed by it (greedy or shared)."""
    dice.commit(tokens)
    read_prompt(draft, tokens)
    logits = draft.extend([*tokens[-1:], *text[:-1]], need=len(text))
    aheads = [text[:i] for i in range(len(text))]
    preferences = dice.preferences(dice.scores(logits, aheads), aheads)
    most = min(max(branches, RANKS) + 1 + len(end_tokens), preferences.shape[1])
    best = preferences.topk(most, -1).indices.tolist()
    return Track(
        prompt=tuple(tokens),
        text=tuple(text),
        preferred=tuple(map(tuple, best)),
        record=record,
        room=room,
        end_tokens=frozenset(end_tokens),
        seed=dice.seed,
        estimates=estimates,
        echoes=[*_echoes(tokens, text)] if estimates else (),
    )


def _echoes(tokens: Sequence[int], text: Sequence[int]) -> Iterator[tuple[int, int]]:
    echoes = Echoes()
    echoes.follow(tokens)
    for token in text:
        said = echoes.next()
        heard = echoes.of(said) if said is not None else ()
        yield said or 0, max((length for length, share in enumerate(heard, start=1) if share > 0), default=0)
        echoes.take(token)


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

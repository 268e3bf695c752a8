"""Load a pair, or take the models that are resident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from decoding.contestants.servers.endpoint import Reach
from decoding.models.devices import device_called
from decoding.models.fit import check_pair
from decoding.pair import Pair
from decoding.spec import Choice
from worker.engine.residents import Residents, Spot
from worker.messages import Loaded, LocalPair, PairOrder
from worker.pairs import ReadyPair, pair_of

Recorded = TypeVar("Recorded", bound=PairOrder)


def recordable(order: Recorded) -> Recorded:
    """Return the order for what of its pair can be recorded: if the draft matches text (SLEM), the target alone."""
    pair = order.pair
    if pair.draft is None:
        return order
    report = check_pair(pair.target, pair.draft)
    report.require()
    left_out = report.draft_left_out(pair.other_tokenizer)
    return replace(order, pair=replace(pair, draft=None, draft_left_out=left_out)) if left_out else order


def load_pair(
    local: LocalPair, residents: Residents, choices: Sequence[Choice] = (), servers: Reach | None = None
) -> tuple[Pair, Loaded]:
    """Return the pair, and what there is to say about it and about what runs each choice."""
    report = check_pair(local.target, local.draft)
    report.require()
    device = str(device_called(local.device))
    spot = Spot(local.target, device, "target", report.target)
    target = residents.load(spot)
    draft = residents.load(Spot(local.draft, device, "draft", report.draft), keep=spot) if local.draft else None
    pair = pair_of(
        target,
        draft,
        classifier_at=local.classifiers.get,
        again=partial(_pair_again, local),
        shared=report.shared,
        method=local.other_tokenizer,
    )
    pair.servers = servers or pair.servers
    pair.draft_left_out = local.draft_left_out
    ready = ReadyPair(pair, target, draft)
    hardware = {**ready.hardware(choices), "dtype": target.runner.facts.dtype}
    return pair, Loaded(hardware, {choice.label: pair.runner_of(choice) for choice in choices})


def _pair_again(local: LocalPair) -> Pair:
    """Load it where nothing is resident yet."""
    return load_pair(local, Residents())[0]

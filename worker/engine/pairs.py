"""Load a pair, or take the models that are resident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.models.devices import device_called
from decoding.vocabularies.fit import check_pair
from worker.engine.residents import Residents, Spot
from worker.messages import LocalPair, PairLoaded
from worker.pairs import ReadyPair, pair_of


def load_pair(
    local: LocalPair,
    residents: Residents,
    choices: Sequence[Choice] = (),
    servers: Reach | None = None,
    *,
    is_recorded: bool = False,
) -> tuple[ModelPair, PairLoaded]:
    """Return the pair, and what there is to say about it and about what runs each choice. If it `is_recorded` and its
    draft matches text (SLEM), return the target alone."""
    ready = ready_pair(local, residents, is_recorded=is_recorded)
    pair, facts = ready.pair, ready.target.runner.facts
    pair.servers = servers or pair.servers
    hardware = {**ready.hardware(choices), "dtype": facts.dtype, "runner": facts.runner}
    return pair, PairLoaded(hardware, {choice.label: pair.runner_of(choice) for choice in choices}, pair.draft_left_out)


def ready_pair(local: LocalPair, residents: Residents, *, is_recorded: bool = False) -> ReadyPair:
    target_model, *draft_model = local.models
    report = check_pair(target_model, next(iter(draft_model), None))
    report.require()
    left_out = report.draft_left_out(local.other_tokenizer) if is_recorded else ""
    if left_out:
        local, report = replace(local, draft=None), check_pair(target_model, None)
    device = str(device_called(local.device))
    spot = Spot(local.target, device, "target", local.dtype, local.runner, report.target)
    target = residents.load(spot)
    draft = None
    if local.draft:
        draft = residents.load(Spot(local.draft, device, "draft", local.dtype, local.runner, report.draft), keep=spot)
    pair = pair_of(
        target,
        draft,
        classifier_at=local.classifiers.get,
        again=partial(_pair_again, local),
        shared=report.shared,
        method=local.other_tokenizer,
        dtype=local.dtype,
        runner=local.runner,
        template=local.template,
    )
    pair.draft_left_out = left_out
    remarks = tuple(finding.sentence for finding in report.findings if finding.level == "remark")
    return ReadyPair(pair, target, draft, remarks)


def _pair_again(local: LocalPair) -> ModelPair:
    """Load it where nothing is resident yet."""
    return ready_pair(local, Residents()).pair

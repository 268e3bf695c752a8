"""Load a pair, or take the models that are resident, and describe it."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.pair import ModelPair
from decoding.models.checkpoints import LoadedModel
from decoding.models.devices import device_called
from decoding.models.runner import ModelRunner
from decoding.prompts.chat.renderer import Renderer
from decoding.ssd.transport.draft_process import DraftProcess, process_for
from decoding.vocabularies.bridge import Bridge, bridge_of
from decoding.vocabularies.fit import check_pair
from decoding.vocabularies.shared import SharedTokens
from webapp.core.hub import HubModel
from worker.engine.residents import Residents, Spot
from worker.messages import LocalPair, PairLoaded


def load_pair(
    local: LocalPair, residents: Residents, servers: Reach | None = None, *, is_recorded: bool = False
) -> tuple[ModelPair, PairLoaded]:
    """Return the pair, and what there is to say about it. If it `is_recorded` and its draft matches text (SLEM), return
    the target alone."""
    target_model, *draft_model = local.models
    report = check_pair(target_model, next(iter(draft_model), None))
    report.require()
    left_out = report.draft_left_out(local.other_tokenizer) if is_recorded else ""
    if left_out:
        local, report = dataclasses.replace(local, draft=None), check_pair(target_model, None)
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
        shared=report.shared,
        method=local.other_tokenizer,
        dtype=local.dtype,
        runner=local.runner,
        template=local.template,
    )
    pair.draft_left_out, pair.servers = left_out, servers or pair.servers
    facts = target.runner.facts
    kernels = {"kernels": dict(facts.kernels)} if facts.kernels else {}
    machine = describe_machine(facts.device, facts.device_name, facts.threads)
    return pair, PairLoaded(
        {**machine, **kernels, "dtype": facts.dtype, "runner": facts.runner},
        draft_left_out=left_out,
        models={"target": _about(target), "draft": draft and _about(draft)},
        remarks=[finding.sentence for finding in report.findings if finding.level == "remark"],
    )


def pair_of(
    target: LoadedModel,
    draft: LoadedModel | None,
    *,
    classifier_at: Callable[[str], Path | None],
    shared: SharedTokens | None = None,
    method: str = "auto",
    dtype: str = "auto",
    runner: str = "auto",
    template: Path | None = None,
) -> ModelPair:
    """`shared` are the tokens that both have, if the tokenizers differ; `method`, one of METHODS, is for these.
    `dtype` and `runner` are what the models were loaded with: SSD's draft process loads the draft alike. `template` is
    a chat template in place of the target's own."""
    bridge = _bridge(target, draft, shared, method)
    return ModelPair(
        target=target.runner,
        draft=_draft_of(draft, bridge),
        bridge=bridge,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, target.runner.facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path if draft else None,
        classifier_at=classifier_at,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint) if draft else None,
        draft_process=_process_of(draft, dtype, runner, target.folder.path if bridge else None),
        renderer=Renderer(target.folder.path, template),
    )


def _bridge(target: LoadedModel, draft: LoadedModel | None, shared: SharedTokens | None, method: str) -> Bridge | None:
    if draft is None or shared is None:
        return None
    return bridge_of(shared, method, target, draft, (target.runner.vocab_size, draft.runner.vocab_size))


def _draft_of(draft: LoadedModel | None, bridge: Bridge | None) -> ModelRunner | None:
    if draft is None:
        return None
    return bridge.over(draft.runner) if bridge else draft.runner


def _process_of(draft: LoadedModel | None, dtype: str, runner: str, target: Path | None) -> DraftProcess | None:
    """`target`: whose tokens the draft is translated to, if any."""
    if draft is None:
        return None
    return process_for(draft.folder.path, dtype, draft.runner.context, runner, target=target)


def _about(model: LoadedModel) -> dict[str, Any]:
    folder = model.folder
    return {
        "folder": str(folder.path),
        **({"hub": f"{known.hub_id}@{known.revision}"} if (known := HubModel.of_folder(folder.path)) else {}),
        "family": folder.family,
        "parameters": folder.parameters,
        "stored_as": folder.dtype,
        "fingerprint": folder.fingerprint,
        **({"gguf": str(folder.origin)} if folder.origin else {}),
        **dataclasses.asdict(model.runner.facts),
    }


def describe_machine(device: str, device_name: str, threads: int) -> dict[str, Any]:
    return {
        "device": device,
        "device_name": device_name,
        "cores": os.cpu_count(),
        "threads": threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # its own kind of text would make the worker load torch to read it
        "transformers": transformers.__version__,
    }

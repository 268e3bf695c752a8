"""Load a pair, or take the models that are resident, and describe it."""

from __future__ import annotations

import dataclasses
import os
import platform
from typing import Any

import torch
import transformers

from decoding.backends.contestants.servers.endpoint import Reach
from decoding.backends.pair import ModelPair
from decoding.models.checkpoints import LoadedModel
from decoding.models.devices import device_called
from decoding.prompts.chat.renderer import Renderer
from decoding.ssd.transport.draft_process import process_for
from decoding.vocabularies.bridge import bridge_of
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
    pair = _pair_of(local, target, draft, report.shared)
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


def _pair_of(
    local: LocalPair, target: LoadedModel, draft: LoadedModel | None, shared: SharedTokens | None
) -> ModelPair:
    """Make the pair of loaded models. `shared` are the tokens that both have, if the tokenizers differ. SSD's draft
    process loads the draft as it was loaded here."""
    bridge = process = drafting = None
    if draft and shared:
        bridge = bridge_of(shared, local.other_tokenizer, target, draft, target.runner.vocab_size)
    if draft:
        drafting = bridge.over(draft.runner) if bridge else draft.runner
        translated_to = target.folder.path if bridge else None
        process = process_for(draft.folder.path, local.dtype, draft.runner.context, local.runner, target=translated_to)
    return ModelPair(
        target=target.runner,
        draft=drafting,
        bridge=bridge,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, target.runner.facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path if draft else None,
        classifier_at=local.classifiers.get,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint) if draft else None,
        draft_process=process,
        renderer=Renderer(target.folder.path),
    )


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

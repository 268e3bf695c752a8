"""Loaded models as a pair that is ready to run, and what runs it. Loads torch."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from decoding.backends.pair import ModelPair
from decoding.choice import Choice
from decoding.models.checkpoints import LoadedModel
from decoding.models.runner import ModelRunner
from decoding.prompts.chat.renderer import Renderer
from decoding.ssd.transport.draft_process import DraftProcess, process_for
from decoding.vocabularies.bridge import Bridge, bridge_of
from decoding.vocabularies.shared import SharedTokens


def pair_of(
    target: LoadedModel,
    draft: LoadedModel | None,
    *,
    classifier_at: Callable[[str], Path | None],
    again: Callable[[], ModelPair],
    shared: SharedTokens | None = None,
    method: str = "auto",
    dtype: str = "auto",
    runner: str = "auto",
    template: Path | None = None,
) -> ModelPair:
    """`shared` are the tokens that both have, if the tokenizers differ; `method`, one of METHODS, is for these.
    `dtype` and `runner` are what the models were loaded with: SSD's draft process loads the draft alike. `again` loads
    the pair in another process. `template` is a chat template in place of the target's own."""
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
        again=again,
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


@dataclass(frozen=True)
class ReadyPair:
    pair: ModelPair
    target: LoadedModel
    draft: LoadedModel | None
    remarks: tuple[str, ...] = ()  # what fits, but not quite

    def hardware(self, choices: Sequence[Choice], longest: int = 0) -> dict[str, Any]:
        """Describe the machine, and what each choice has for texts of so many tokens."""
        facts = self.target.runner.facts
        return describe_machine(facts.device, facts.device_name, facts.threads) | {
            **({"kernels": dict(facts.kernels)} if facts.kernels else {}),
            "by_strategy": {choice.label: self.pair.hardware_of(choice, longest) for choice in choices},
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

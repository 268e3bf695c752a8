"""Two model folders become a pair that is ready to run, and what there is to say about it."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import transformers

from decoding.checkpoints import Loaded, load
from decoding.devices import device_called, set_threads, usual_threads
from decoding.pair import Pair
from decoding.pairs import check_pair
from decoding.spec import Choice
from decoding.ssd.resident import process_for
from worker.memory import run_size
from worker.terminal.arguments import Asked, Bench
from worker.terminal.guarded import allow


@dataclass(frozen=True)
class LoadedPair:
    name: str
    remarks: tuple[str, ...]  # what fits, but not quite
    pair: Pair
    target: Loaded
    draft: Loaded

    def runner_of(self, choice: Choice) -> str:
        """Name what runs the models under one strategy."""
        return self.pair.runner_of(choice)

    def about(self) -> dict[str, Any]:
        """The two models, for the JSON document."""
        return {"name": self.name, "target": _about(self.target), "draft": _about(self.draft)}

    def hardware(self, choices: Sequence[Choice]) -> dict[str, Any]:
        facts = self.target.runner.facts
        return {
            "device": facts.device,
            "device_name": facts.device_name,
            "cores": os.cpu_count(),
            "threads": facts.threads,
            "system": platform.platform(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "by_strategy": {choice.label: self.pair.hardware_of(choice) for choice in choices},
        }


def load_pair(asked: Bench) -> LoadedPair:
    transformers.utils.logging.disable_progress_bar()  # we draw our own
    transformers.utils.logging.set_verbosity_error()
    report = check_pair(asked.material.target, asked.material.draft)
    report.require()
    device = device_called(asked.device)
    allow(_need(asked))
    set_threads(asked.threads or usual_threads())
    target, draft = (
        load(folder, dtype=asked.dtype, device=device, runner=asked.runner)
        for folder in (asked.material.target, asked.material.draft)
    )
    pair = Pair(
        target=target.runner,
        draft=draft.runner,
        tokenizer=target.tokenizer,
        end_tokens=target.folder.end_tokens,
        dtype=getattr(torch, target.runner.facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path,
        classifier_at=asked.material.classifier_at,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint),
        draft_process=process_for(draft.folder.path, asked.dtype, draft.runner.context, asked.runner),
        again=partial(_pair_again, replace(asked, prompts=[], threads=1)),
    )
    remarks = tuple(finding.sentence for finding in report.findings if finding.level == "remark")
    return LoadedPair(asked.material.name, remarks, pair, target, draft)


def _need(asked: Bench) -> int:
    pair, texts = (asked.material.target, asked.material.draft), [prompt.text for prompt in asked.prompts]
    choices = asked.choices if isinstance(asked, Asked) else ()
    is_recorded = not isinstance(asked, Asked)
    return run_size(pair, texts, asked.sampling.max_new_tokens, choices, is_recorded=is_recorded)


def _pair_again(asked: Bench) -> Pair:
    return load_pair(asked).pair


def _about(model: Loaded) -> Mapping[str, Any]:
    return {
        "folder": str(model.folder.path),
        "family": model.folder.family,
        "parameters": model.folder.parameters,
        "stored_as": model.folder.dtype,
        "fingerprint": model.folder.fingerprint,
        **dataclasses.asdict(model.runner.facts),
    }

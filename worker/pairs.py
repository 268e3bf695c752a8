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

from decoding.models.checkpoints import Loaded
from decoding.pair import Pair
from decoding.spec import Choice
from decoding.ssd.transport.draft_process import process_for


def pair_of(
    target: Loaded,
    draft: Loaded | None,
    *,
    classifier_at: Callable[[str], Path | None],
    again: Callable[[], Pair],
    dtype: str = "auto",
    runner: str = "auto",
) -> Pair:
    """`dtype` and `runner` are what the models were loaded with: SSD's draft process loads the draft alike. `again`
    loads the pair in another process."""
    return Pair(
        target=target.runner,
        draft=draft.runner if draft else None,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, target.runner.facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path if draft else None,
        classifier_at=classifier_at,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint) if draft else None,
        draft_process=process_for(draft.folder.path, dtype, draft.runner.context, runner) if draft else None,
        again=again,
    )


@dataclass(frozen=True)
class ReadyPair:
    pair: Pair
    target: Loaded
    draft: Loaded | None

    def hardware(self, choices: Sequence[Choice]) -> dict[str, Any]:
        facts = self.target.runner.facts
        return {
            "device": facts.device,
            "device_name": facts.device_name,
            "cores": os.cpu_count(),
            "threads": facts.threads,
            "system": platform.platform(),
            "python": platform.python_version(),
            "torch": str(torch.__version__),  # its own kind of text would make the worker load torch to read it
            "transformers": transformers.__version__,
            "by_strategy": {choice.label: self.pair.hardware_of(choice) for choice in choices},
        }

"""Two loaded models as a pair that is ready to run, and what runs it. Loads torch."""

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
from decoding.vocabularies.bridge import bridge_of
from decoding.vocabularies.shared import Shared


def pair_of(
    target: Loaded,
    draft: Loaded,
    *,
    classifier_at: Callable[[str], Path | None],
    again: Callable[[], Pair],
    shared: Shared | None = None,
    method: str = "auto",
    dtype: str = "auto",
    runner: str = "auto",
) -> Pair:
    """`shared` are the tokens that both have, if the tokenizers differ; `method`, one of METHODS, is for these.
    `dtype` and `runner` are what the models were loaded with: SSD's draft process loads the draft alike. `again` loads
    the pair in another process."""
    outputs = (target.runner.vocab_size, draft.runner.vocab_size)
    bridge = bridge_of(shared, method, target, draft, outputs) if shared else None
    return Pair(
        target=target.runner,
        draft=bridge.over(draft.runner) if bridge else draft.runner,
        bridge=bridge,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, target.runner.facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path,
        classifier_at=classifier_at,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint),
        draft_process=process_for(
            draft.folder.path, dtype, draft.runner.context, runner, target=target.folder.path if bridge else None
        ),
        again=again,
    )


@dataclass(frozen=True)
class ReadyPair:
    pair: Pair
    target: Loaded
    draft: Loaded

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

"""The best settings found here, in other engines' words. Standard library only. Passes cost differently there, so these
are where to start searching."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    engine: str
    setting: str


def elsewhere(lookahead: int, threshold: float, cap: int) -> tuple[Elsewhere, ...]:
    """For the best static lookahead, and for the best threshold on the draft's confidence with its cap."""
    vllm = json.dumps({"model": "DRAFT", "num_speculative_tokens": lookahead})
    return (
        Elsewhere(
            "transformers",
            f"num_assistant_tokens={lookahead}, num_assistant_tokens_schedule='constant', "
            "assistant_confidence_threshold=0",
        ),
        Elsewhere(
            "transformers",
            f"num_assistant_tokens={cap}, num_assistant_tokens_schedule='constant', "
            f"assistant_confidence_threshold={threshold:g}",
        ),
        Elsewhere("vLLM", f"--speculative-config '{vllm}'"),
        Elsewhere(
            "SGLang",
            "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
            f"--speculative-num-steps {lookahead} --speculative-eagle-topk 1 "
            f"--speculative-num-draft-tokens {lookahead + 1}",
        ),
    )

"""The best settings found here, in other engines' words. Standard library only. Passes cost differently there, so these
are where to start searching."""

from __future__ import annotations

import json
from dataclasses import dataclass

from decoding.spec import choose


@dataclass(frozen=True)
class Elsewhere:
    engine: str
    setting: str
    of: str  # the label of the strategy that it sets


def elsewhere(lookahead: int, threshold: float, cap: int) -> tuple[Elsewhere, ...]:
    """For the best static lookahead, and for the best threshold on the draft's confidence with its cap."""
    vllm = json.dumps({"method": "draft_model", "model": "DRAFT", "num_speculative_tokens": lookahead})
    static = choose("static", {"lookahead": lookahead}).label
    confident = choose("threshold", {"threshold": threshold, "cap": cap}).label
    return (
        Elsewhere("transformers", _transformers(lookahead, 0), static),
        Elsewhere("transformers", _transformers(cap, threshold), confident),
        Elsewhere("vLLM", f"--speculative-config '{vllm}'", static),
        Elsewhere(
            "SGLang",
            "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
            f"--speculative-num-steps {lookahead} --speculative-eagle-topk 1 "
            f"--speculative-num-draft-tokens {lookahead + 1}",
            static,
        ),
    )


def _transformers(tokens: int, threshold: float) -> str:
    """It reads the assistant's own configuration: the same given to `generate` changes nothing."""
    return (
        f"assistant_model.generation_config.update(num_assistant_tokens={tokens}, "
        f"num_assistant_tokens_schedule='constant', assistant_confidence_threshold={threshold:g})"
    )

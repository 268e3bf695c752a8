"""Options of other engines for a draft model. A test checks each against the engine's rules. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decoding.drafting.strategy import EngineSetting


def transformers(tokens: int, threshold: float = 0, note: str = "") -> EngineSetting:
    """Line of code that configures an assistant. The assistant reads its own `generation_config`; the same settings
    passed to `generate` have no effect."""
    line = (
        f"assistant_model.generation_config.update(num_assistant_tokens={tokens}, "
        f"num_assistant_tokens_schedule='constant', assistant_confidence_threshold={threshold:g})"
    )
    return EngineSetting("transformers", line, note)


def vllm(config: Mapping[str, Any]) -> EngineSetting:
    note = "its draft ignores the repetition penalty, so with one fewer drafts are accepted than here"
    return EngineSetting("vLLM", f"--speculative-config '{json.dumps(config)}'", note)


def sglang(lookahead: int, note: str = "") -> EngineSetting:
    return EngineSetting(
        "SGLang",
        "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
        f"--speculative-num-steps {lookahead} --speculative-eagle-topk 1 "
        f"--speculative-num-draft-tokens {lookahead + 1}",
        note,
    )


def llama_cpp(lookahead: int, threshold: float = 0, users: int = 1, note: str = "") -> EngineSetting:
    """Options of llama-server. Without `--spec-type` it loads the draft and never uses it."""
    stops = f" --spec-draft-p-min {threshold:g}" if threshold else ""
    slots = f" --parallel {users}" if users > 1 else ""
    options = f"-md DRAFT --spec-type draft-simple --spec-draft-n-max {lookahead}{stops}{slots}"
    return EngineSetting("llama.cpp", options, note)

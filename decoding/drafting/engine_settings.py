"""Options of other engines for a draft model. A test checks each against the engine's rules. Standard library only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from decoding.drafting.strategy import LLAMA_CPP, EngineSetting, assistant, llama_draft


def transformers(tokens: int, threshold: float = 0, note: str = "") -> EngineSetting:
    return EngineSetting("transformers", assistant(tokens, threshold), note)


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
    slots = f" --parallel {users}" if users > 1 else ""
    return EngineSetting(LLAMA_CPP, llama_draft(lookahead, threshold) + slots, note)

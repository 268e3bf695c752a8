"""OpenAI's completions, as many servers speak them: text in and out, usage in the last chunk. Some servers take and
send token ids as well, in fields that OpenAI has not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from decoding.backends.contestants.servers.dialects.base import (
    Dialect,
    EventReader,
    Json,
    Piece,
    histogram,
    ids,
    table,
    text_of,
    whole,
)
from decoding.trace.events import FinishReason, Reported

if TYPE_CHECKING:
    from decoding.backends.contestants.base import Request

FINISHES: dict[str, FinishReason] = {"length": "length", "stop": "eos", "eos": "eos"}
TEXT = ("model", "prompt", "max_tokens", "seed", "stream", "stop")  # the fields that `transformers serve` reads
COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")


class Completions(EventReader):
    """Reads `text_completion` chunks."""

    def piece(self, event: Json) -> Piece:
        choice, usage = _choice(event), table(event.get("usage"))
        return Piece(
            tokens=ids(choice.get("token_ids")),
            text=text_of(choice.get("text")),
            total=whole(usage.get("completion_tokens")),
            finish=_finish(choice),
            report=self.report(event, usage) if usage else None,
        )

    def report(self, event: Json, usage: Json) -> Reported:
        return Reported(
            prompt_tokens=whole(usage.get("prompt_tokens")),
            cached_tokens=whole(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
            new_tokens=whole(usage.get("completion_tokens")),
        )


def _choice(event: Json) -> Json:
    choices = event.get("choices")
    return table(choices[0]) if isinstance(choices, list) and choices else {}


def _finish(choice: Json) -> FinishReason | None:
    """Read why the text ends. `stop_reason` holds the stop string; it is null after an end token."""
    if choice.get("finish_reason") == "stop" and isinstance(choice.get("stop_reason"), str):
        return "stop"
    return FINISHES.get(text_of(choice.get("finish_reason")))


class VllmReader(Completions):
    def report(self, event: Json, usage: Json) -> Reported:
        told = table(table(event.get("metrics")).get("speculative_decoding"))
        counts: dict[str, Any] = {name: whole(told.get(name)) for name in COUNTS}
        accepted = histogram(told.get("acceptance_histogram"))
        return dataclasses.replace(super().report(event, usage), acceptance_histogram=accepted, **counts)


class OpenAI(Dialect):
    name = "openai"
    title = "OpenAI completions"
    route = "/v1/completions"
    reader: ClassVar[type[EventReader]] = Completions
    health = "/v1/models"
    takes_ids = False
    goes_past_end = False
    cache = "cannot be kept out; a request that used it is reported"

    def body(self, request: Request, model: str) -> Json:
        sampling = request.sampling
        return {
            "model": model,
            "prompt": list(request.prompt) if self.takes_ids and request.prompt else request.text,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": request.seed % 2**31,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"stop": list(sampling.stop)} if sampling.stop else {}),
        }


class TransformersServe(OpenAI):
    """Takes text alone; `generation_config` carries what OpenAI has no field for."""

    name = "transformers"
    title = "transformers serve"
    health = "/health"
    programs = ("transformers",)
    cache = "it keeps none between requests"

    def body(self, request: Request, model: str) -> Json:
        body = {name: value for name, value in super().body(request, model).items() if name in TEXT}
        return {**body, "generation_config": json.dumps(request.sampling.for_transformers())}

    def model_in(self, command: Sequence[str]) -> str:
        return next(iter(command[list(command).index("serve") + 1 :]), "") if "serve" in command else ""

    def names(self, listed: Json) -> list[str]:
        """It lists what the machine has downloaded, not what it serves."""
        return []


class OpenAIWithIds(OpenAI):
    """The same with token ids, and the fields of sampling that OpenAI has not."""

    health = "/health"
    takes_ids = True
    goes_past_end = True

    def body(self, request: Request, model: str) -> Json:
        return {
            **super().body(request, model),
            "add_special_tokens": False,
            "ignore_eos": request.sampling.ignore_eos,
            "repetition_penalty": request.sampling.repetition_penalty,
            "skip_special_tokens": False,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            "top_k": request.sampling.top_k,
        }


class TensorRT(OpenAIWithIds):
    """TensorRT-LLM (trtllm-serve), which refuses fields that it does not know."""

    name = "trtllm"
    title = "TensorRT-LLM"
    programs = ("trtllm-serve",)
    cache = "start it with kv_cache_config.enable_block_reuse: false; a request that used it is reported"


class VLLM(OpenAIWithIds):
    """Two fields more, and its own metrics of speculative decoding."""

    name = "vllm"
    title = "vLLM"
    reader = VllmReader
    programs = ("vllm",)
    cache = "cache_salt, new for each request"
    metrics: ClassVar = {
        "num_spec_steps": "vllm:spec_decode_num_drafts_total",
        "num_draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
        "num_accepted_draft_tokens": "vllm:spec_decode_num_accepted_tokens_total",
        "cached_tokens": "vllm:prefix_cache_hits_total",
    }
    accepted_at = "vllm:spec_decode_num_accepted_tokens_per_pos_total"

    def body(self, request: Request, model: str) -> Json:
        return {**super().body(request, model), "cache_salt": uuid4().hex, "return_token_ids": True}

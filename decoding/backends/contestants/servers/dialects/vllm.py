"""vLLM: OpenAI's completions with token ids in and out, and its own metrics of speculative decoding."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from decoding.backends.contestants.servers.dialects.base import Ask, EventReader, Json, histogram, table, whole
from decoding.backends.contestants.servers.dialects.openai import Completions, OpenAIWithIds
from decoding.trace.events import Reported


class VllmReader(Completions):
    def report(self, event: Json, usage: Json) -> Reported:
        plain = super().report(event, usage)
        told = table(table(event.get("metrics")).get("speculative_decoding"))
        return dataclasses.replace(
            plain,
            num_spec_steps=whole(told.get("num_spec_steps")),
            num_draft_tokens=whole(told.get("num_draft_tokens")),
            num_accepted_draft_tokens=whole(told.get("num_accepted_draft_tokens")),
            acceptance_histogram=histogram(told.get("acceptance_histogram")),
        )


class VLLM(OpenAIWithIds):
    name = "vllm"
    title = "vLLM"
    met = "vLLM 0.32.0 on the CPU"
    programs = ("vllm",)
    cache = "cache_salt, new for each request"
    metrics: ClassVar = {
        "num_spec_steps": "vllm:spec_decode_num_drafts_total",
        "num_draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
        "num_accepted_draft_tokens": "vllm:spec_decode_num_accepted_tokens_total",
        "cached_tokens": "vllm:prefix_cache_hits_total",
    }
    accepted_at = "vllm:spec_decode_num_accepted_tokens_per_pos_total"

    def body(self, ask: Ask) -> Json:
        return {**super().body(ask), "cache_salt": ask.salt, "return_token_ids": True}

    def reading(self, ask: Ask) -> EventReader:
        return VllmReader()


DIALECT = VLLM()

"""TensorRT-LLM (trtllm-serve): OpenAI's completions with token ids in and out. It refuses other fields."""

from __future__ import annotations

import dataclasses

from decoding.backends.contestants.servers.dialects.base import Ask, EventReader, Json, Piece, number, table
from decoding.backends.contestants.servers.dialects.openai import Completions, OpenAIWithIds


class TrtLlmReader(Completions):
    """Remembers the mean number of tokens per pass, which comes with the last text, before the usage."""

    mean: float | None = None

    def piece(self, event: Json) -> Piece:
        found = super().piece(event)
        choices = event.get("choices")
        choice = table(choices[0]) if isinstance(choices, list) and choices else {}
        mean = number(choice.get("avg_decoded_tokens_per_iter")) or 0
        self.mean = mean if mean >= 1 else self.mean
        report = found.report
        if self.mean is None or report is None or not report.new_tokens:
            return found
        steps = round(report.new_tokens / self.mean)
        accepted = max(0, report.new_tokens - steps)
        return dataclasses.replace(
            found, report=dataclasses.replace(report, num_spec_steps=steps, num_accepted_draft_tokens=accepted)
        )


class TensorRT(OpenAIWithIds):
    name = "trtllm"
    title = "TensorRT-LLM"
    programs = ("trtllm-serve",)
    cache = "start it with kv_cache_config.enable_block_reuse: false; a request that used it is reported"

    def reading(self, ask: Ask) -> EventReader:
        return TrtLlmReader()


DIALECT = TensorRT()

"""OpenAI's completions, as many servers speak them: `/v1/completions`, text in and out, usage in the last chunk."""

from __future__ import annotations

from decoding.backends.contestants.servers.dialects.base import (
    Ask,
    Dialect,
    EventReader,
    Json,
    Piece,
    ids,
    table,
    text_of,
    whole,
)
from decoding.trace.events import FinishReason, Reported

FINISHES: dict[str, FinishReason] = {"length": "length", "stop": "eos", "eos": "eos"}


class Completions(EventReader):
    """Reads `text_completion` chunks."""

    def piece(self, event: Json) -> Piece:
        choices = event.get("choices")
        choice = table(choices[0]) if isinstance(choices, list) and choices else {}
        usage = table(event.get("usage"))
        return Piece(
            tokens=ids(choice.get("token_ids")),
            text=text_of(choice.get("text")),
            total=whole(usage.get("completion_tokens")),
            finish=self.finish(choice),
            report=self.report(event, usage) if usage else None,
        )

    def finish(self, choice: Json) -> FinishReason | None:
        """`stop_reason` holds the stop string; it is null after an end token."""
        if choice.get("finish_reason") == "stop" and isinstance(choice.get("stop_reason"), str):
            return "stop"
        return FINISHES.get(text_of(choice.get("finish_reason")))

    def report(self, event: Json, usage: Json) -> Reported:
        return Reported(
            prompt_tokens=whole(usage.get("prompt_tokens")),
            cached_tokens=whole(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
            new_tokens=whole(usage.get("completion_tokens")),
        )


class OpenAI(Dialect):
    name = "openai"
    title = "OpenAI completions"
    met = ""
    route = "/v1/completions"
    health = "/v1/models"
    takes_ids = False
    goes_past_end = False
    cache = "cannot be kept out; a request that used it is reported"

    def body(self, ask: Ask) -> Json:
        sampling = ask.sampling
        return {
            "model": ask.model,
            "prompt": list(ask.prompt) if self.takes_ids and ask.prompt else ask.text,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": ask.seed % 2**31,
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"stop": list(sampling.stop)} if sampling.stop else {}),
        }

    def reading(self, ask: Ask) -> EventReader:
        return Completions()

    def models(self) -> str:
        return "/v1/models"

    def names(self, listed: Json) -> list[str]:
        data = listed.get("data")
        return [text_of(table(one).get("id")) for one in data] if isinstance(data, list) else []


class OpenAIWithIds(OpenAI):
    """The same with token ids in and out, and fields that OpenAI has not."""

    health = "/health"
    takes_ids = True
    goes_past_end = True

    def body(self, ask: Ask) -> Json:
        return {
            **super().body(ask),
            "add_special_tokens": False,
            "ignore_eos": ask.sampling.ignore_eos,
            "repetition_penalty": ask.sampling.repetition_penalty,
            "skip_special_tokens": False,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            "top_k": ask.sampling.top_k,
        }


DIALECT = OpenAI()

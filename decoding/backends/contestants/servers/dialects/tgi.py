"""Text Generation Inference: /generate_stream, text in, one event per token with its id."""

from __future__ import annotations

from typing import Any

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

FINISHES: dict[str, FinishReason] = {"length": "length", "eos_token": "eos", "stop_sequence": "stop"}


class TgiReader(EventReader):
    def piece(self, event: Json) -> Piece:
        token, details = table(event.get("token")), table(event.get("details"))
        number = whole(token.get("id"))
        new = whole(details.get("generated_tokens"))
        return Piece(
            tokens=() if number is None else (number,),
            text="" if token.get("special") else text_of(token.get("text")),
            total=new,
            finish=FINISHES.get(text_of(details.get("finish_reason"))),
            report=Reported(prompt_tokens=whole(details.get("input_length")), new_tokens=new) if details else None,
        )


class TGI(Dialect):
    name = "tgi"
    title = "Text Generation Inference"
    met = ""
    programs = ("text-generation-launcher",)
    route = "/generate_stream"
    takes_ids = False
    goes_past_end = False
    tokenizes = "/tokenize"
    cache = "start it with PREFIX_CACHING=0"

    def body(self, ask: Ask) -> Json:
        sampling = ask.sampling
        chance: Json = {"do_sample": not sampling.is_greedy}
        if not sampling.is_greedy:
            chance |= {"temperature": sampling.temperature, "seed": ask.seed % 2**63}
            chance |= {"top_k": sampling.top_k} if sampling.top_k else {}
            chance |= {"top_p": sampling.top_p} if sampling.top_p < 1 else {}
        return {
            "inputs": ask.text,
            "parameters": {
                "max_new_tokens": sampling.max_new_tokens,
                "details": True,
                **({"repetition_penalty": sampling.repetition_penalty} if sampling.repetition_penalty != 1 else {}),
                **({"stop": list(sampling.stop)} if sampling.stop else {}),
                **chance,
            },
        }

    def cut(self, text: str) -> Json:
        return {"inputs": text}

    def cut_ids(self, answer: Any) -> tuple[int, ...]:
        return ids([table(token).get("id") for token in answer] if isinstance(answer, list) else answer)

    def reading(self, ask: Ask) -> EventReader:
        return TgiReader()

    def models(self) -> str:
        return "/info"

    def names(self, listed: Json) -> list[str]:
        return [text_of(listed.get("model_id"))]


DIALECT = TGI()

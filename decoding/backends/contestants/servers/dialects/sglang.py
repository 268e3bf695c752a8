"""SGLang's own route, /generate: token ids in and out, and `meta_info` with the counts of speculative decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class SglangReader(EventReader):
    """Reads events that hold the whole answer so far, or only what is new (--incremental-streaming-output). The count
    in `meta_info` tells which."""

    def __init__(self) -> None:
        self._seen = 0
        self._text = ""

    def piece(self, event: Json) -> Piece:
        meta = table(event.get("meta_info"))
        found, total = ids(event.get("output_ids")), whole(meta.get("completion_tokens"))
        is_whole = total is None or len(found) == total
        fresh = found[self._seen :] if is_whole else found
        self._seen += len(fresh)
        text = text_of(event.get("text"))
        fresh_text = text[len(self._text) :] if is_whole and text.startswith(self._text) else text
        self._text += fresh_text
        finish = _finish(table(meta.get("finish_reason")))
        return Piece(fresh, fresh_text, total, finish, _report(meta) if finish else None)


def _finish(reason: Json) -> FinishReason | None:
    match reason.get("type"):
        case "length":
            return "length"
        case "stop":
            return "stop" if isinstance(reason.get("matched"), str) else "eos"
        case _:
            return None


def _report(meta: Json) -> Reported:
    return Reported(
        prompt_tokens=whole(meta.get("prompt_tokens")),
        cached_tokens=whole(meta.get("cached_tokens")),
        new_tokens=whole(meta.get("completion_tokens")),
        num_spec_steps=whole(meta.get("spec_verify_ct")),
        num_draft_tokens=whole(meta.get("spec_num_proposed_drafts", meta.get("spec_draft_token_num"))),
        num_accepted_draft_tokens=whole(meta.get("spec_num_correct_drafts", meta.get("spec_accept_token_num"))),
        acceptance_histogram=histogram(meta.get("spec_correct_drafts_histogram", meta.get("spec_accept_histogram"))),
    )


class SGLang(Dialect):
    name = "sglang"
    title = "SGLang"
    route = "/generate"
    lists = "/get_model_info"
    reader = SglangReader
    takes_ids = True
    cache = "start it with --disable-radix-cache; a request that used it is reported"

    def body(self, request: Request, model: str) -> Json:
        sampling = request.sampling
        prompt: Json = {"input_ids": list(request.prompt)} if request.prompt else {"text": request.text}
        return {
            **prompt,
            "stream": True,
            "sampling_params": {
                "max_new_tokens": sampling.max_new_tokens,
                "temperature": sampling.temperature,
                "top_k": sampling.top_k or -1,
                "top_p": sampling.top_p,
                "repetition_penalty": sampling.repetition_penalty,
                "ignore_eos": sampling.ignore_eos,
                "skip_special_tokens": False,
                **({"stop": list(sampling.stop)} if sampling.stop else {}),
            },
        }

    def names(self, listed: Json) -> list[str]:
        return [text_of(listed.get("model_path"))]

"""Wire formats of the dialects: how each server streams a text that it made in steps, the first of one token.

Written from the servers' own documents and sources; llama.cpp's is a copy of what llama-server sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tests.kit.servers.wire import Asked, Piece, Reply, Script, events, plain

Steps = Sequence[Sequence[int]]  # tokens of the prompt's pass, then of each verification
Decode = Callable[[Sequence[int]], str]
DRAFTED = 4  # tokens of each draft


def counts(steps: Steps) -> tuple[int, int, int]:
    """Verifications, drafted tokens, accepted tokens."""
    return len(steps) - 1, DRAFTED * (len(steps) - 1), sum(len(step) - 1 for step in steps[1:])


def llamacpp(asked: Asked, steps: Steps, decode: Decode) -> list[Piece]:
    prompt = len(asked.body["prompt"])
    sent: list[Any] = []
    timings: dict[str, Any] = {}
    for number, step in enumerate(steps):
        for token in step:
            timings = {"cache_n": 0, "prompt_n": prompt, "prompt_ms": 20.5, "predicted_n": len(sent) + 1}
            timings["predicted_ms"] = 0.001 + 9.5 * number
            if number:
                _, drafted, accepted = counts(steps[: number + 1])
                timings |= {"draft_n": drafted, "draft_n_accepted": accepted}
            sent.append({"index": 0, "content": decode([token]), "tokens": [token], "stop": False, "id_slot": -1,
                         "tokens_predicted": len(sent) + 1, "tokens_evaluated": prompt,
                         "timings": timings})  # fmt: skip
    last = {"index": 0, "content": "", "tokens": [], "id_slot": 0, "stop": True, "model": "m", "stop_type": "limit",
            "tokens_predicted": len(sent), "tokens_evaluated": prompt, "truncated": True,
            "timings": timings}  # fmt: skip
    return events(*sent, last)


def vllm(asked: Asked, steps: Steps, decode: Decode) -> list[Piece]:
    prompt, made = len(asked.body["prompt"]), 0
    sent: list[Any] = []
    for step in steps:
        made += len(step)
        choice = {"index": 0, "text": decode(step), "logprobs": None, "finish_reason": None, "stop_reason": None,
                  "token_ids": list(step), "prompt_token_ids": None}  # fmt: skip
        if made == sum(map(len, steps)):
            choice["finish_reason"] = "length"
        sent.append(_chunk(choices=[choice], usage=_usage(prompt, made)))
    verified, drafted, accepted = counts(steps)
    histogram = [sum(len(step) == n for step in steps[1:]) for n in range(1, DRAFTED + 2)]
    told = {"num_spec_steps": verified, "num_draft_tokens": drafted, "num_accepted_draft_tokens": accepted,
            "acceptance_histogram": histogram}  # fmt: skip
    sent.append(_chunk(choices=[], usage=_usage(prompt, made), metrics={"speculative_decoding": told}))
    return events(*sent, "[DONE]")


def openai(asked: Asked, steps: Steps, decode: Decode, *, ends_apart: bool = False) -> list[Piece]:
    """Counts come in a chunk of their own. `transformers` says in it how the text ended, and sends no [DONE]."""
    text = [{"index": 0, "text": decode(step), "logprobs": None, "finish_reason": None} for step in steps]
    usage = _usage(len(asked.body["prompt"]), sum(map(len, steps)))
    last = [{"index": 0, "text": "", "logprobs": None, "finish_reason": "length"}] if ends_apart else []
    if not ends_apart:
        text[-1]["finish_reason"] = "length"
    chunks = [*(_chunk(choices=[one], usage=None) for one in text), _chunk(choices=last, usage=usage)]
    return events(*chunks, *([] if ends_apart else ["[DONE]"]))


def sglang(asked: Asked, steps: Steps, decode: Decode) -> list[Piece]:
    """Every event repeats the whole answer."""
    sent, made = [], list[int]()
    verified, drafted, accepted = counts(steps)
    for number, step in enumerate(steps):
        made += step
        meta: dict[str, Any] = {"id": "1", "finish_reason": None, "prompt_tokens": len(asked.body["input_ids"]),
                                "completion_tokens": len(made), "cached_tokens": 0}  # fmt: skip
        if number == len(steps) - 1:
            meta |= {"finish_reason": {"type": "length", "length": len(made)}, "spec_verify_ct": verified,
                     "spec_num_proposed_drafts": drafted, "spec_num_correct_drafts": accepted}  # fmt: skip
        sent.append({"text": decode(made), "output_ids": list(made), "meta_info": meta})
    return events(*sent, "[DONE]")


FORMATS: dict[str, tuple[str, Callable[[Asked, Steps, Decode], list[Piece]]]] = {
    "llamacpp": ("/completion", llamacpp),
    "vllm": ("/v1/completions", vllm),
    "trtllm": ("/v1/completions", vllm),
    "openai": ("/v1/completions", openai),
    "transformers": ("/v1/completions", partial(openai, ends_apart=True)),
    "sglang": ("/generate", sglang),
}
LISTS = {"/v1/models": {"data": [{"id": "m"}]}, "/get_model_info": {"model_path": "m"}}


def prompt_of(body: Any) -> Any:
    """The prompt, wherever the dialect has it: ids or text."""
    return body.get("prompt", body.get("input_ids"))


def speaking(dialect: str, steps_for: Callable[[Any, int], Steps], decode: Decode) -> Script:
    """Script of a server that answers each prompt with these steps, cut to the tokens asked for."""
    route, stream = FORMATS[dialect]

    def script(asked: Asked) -> Reply:
        if asked.path in LISTS:
            return plain(LISTS[asked.path])
        if asked.path == "/health":
            return Reply()
        if asked.path != route:
            return Reply([b'{"error": "no such route"}'], 404)
        return Reply(stream(asked, steps_for(prompt_of(asked.body), _room(asked.body)), decode))

    return script


def _room(body: Any) -> int:
    for part in (body, body.get("sampling_params", {})):
        for name in ("n_predict", "max_tokens", "max_new_tokens"):
            if name in part:
                return int(part[name])
    raise AssertionError(f"no limit in {json.dumps(body)}")


def _chunk(**fields: Any) -> dict[str, Any]:
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", **fields}


def _usage(prompt: int, made: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}

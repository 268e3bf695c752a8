"""llama.cpp's server: /completion, token ids in and out, with the counts of drafts beside every token."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from decoding.backends.contestants.servers.dialects.base import (
    LONGEST_DRAFT,
    Dialect,
    EventReader,
    Json,
    Piece,
    ids,
    number,
    table,
    text_of,
    whole,
)
from decoding.trace.events import FinishReason, Reported

if TYPE_CHECKING:
    from decoding.backends.contestants.base import Request

FINISHES: dict[str, FinishReason] = {"eos": "eos", "limit": "length", "word": "stop"}


class LlamaCppReader(EventReader):
    """Reads one event per token. All tokens of one verification carry the same `predicted_ms`, so the counts beside
    them tell where a verification begins and how much of its draft was accepted."""

    def __init__(self) -> None:
        self._at: object = None
        self._drafted = self._accepted = 0
        self._steps: Counter[int] = Counter()  # accepted tokens -> verifications of a draft
        self._lengths: Counter[int] = Counter()  # drafted tokens -> verifications

    def piece(self, event: Json) -> Piece:
        timings = table(event.get("timings"))
        at = timings.get("predicted_ms")
        is_same = at is not None and at == self._at
        self._at = at
        self._count(timings)
        finish = FINISHES.get(text_of(event.get("stop_type")))
        return Piece(
            tokens=ids(event.get("tokens")),
            text=text_of(event.get("content")),
            total=whole(timings.get("predicted_n")),
            finish=finish,
            report=self._report(event, timings) if event.get("stop") else None,
            is_same_step=is_same,
        )

    def _count(self, timings: Json) -> None:
        drafted, accepted = whole(timings.get("draft_n")) or 0, whole(timings.get("draft_n_accepted")) or 0
        if drafted > self._drafted:
            self._steps[accepted - self._accepted] += 1
            self._lengths[drafted - self._drafted] += 1
        self._drafted, self._accepted = drafted, accepted

    def _report(self, event: Json, timings: Json) -> Reported:
        return Reported(
            prompt_tokens=whole(event.get("tokens_evaluated")),
            cached_tokens=whole(timings.get("cache_n")),
            new_tokens=whole(event.get("tokens_predicted")),
            num_spec_steps=self._steps.total(),
            num_draft_tokens=self._drafted,
            num_accepted_draft_tokens=self._accepted,
            acceptance_histogram=tuple(self._steps[n] for n in range(_longest(self._steps) + 1)),
            drafts_by_position=tuple(
                sum(count for length, count in self._lengths.items() if length > n)
                for n in range(_longest(self._lengths))
            ),
            prefill_ms=number(timings.get("prompt_ms")),
            decode_ms=number(timings.get("predicted_ms")),
        )


def _longest(counted: Counter[int]) -> int:
    """Return the most tokens of one verification; -1 if there is none, or if no draft can be as long."""
    longest = max(counted, default=-1)
    return longest if longest <= LONGEST_DRAFT else -1


class LlamaCpp(Dialect):
    name = "llamacpp"
    title = "llama.cpp"
    programs = ("llama-server",)
    route = "/completion"
    reader = LlamaCppReader
    takes_ids = True
    cache = "cache_prompt: false"

    def body(self, request: Request, model: str) -> Json:
        sampling = request.sampling
        window = len(request.prompt) + sampling.max_new_tokens if sampling.repetition_penalty != 1 else 0
        return {
            "prompt": list(request.prompt) if request.prompt else request.text,
            "n_predict": sampling.max_new_tokens,
            "samplers": ["penalties", "top_k", "top_p", "temperature"],
            "temperature": sampling.temperature,
            "top_k": 1 if sampling.is_greedy else sampling.top_k,
            "top_p": sampling.top_p,
            "repeat_penalty": sampling.repetition_penalty,
            "repeat_last_n": window,  # the whole text, as ours
            "seed": request.seed % 2**32,
            "stop": list(sampling.stop),
            "ignore_eos": sampling.ignore_eos,
            "cache_prompt": False,
            "stream": True,
            "return_tokens": True,
            "timings_per_token": True,
        }

"""transformers serve: OpenAI's completions as text alone; `generation_config` carries what OpenAI has no field for."""

from __future__ import annotations

import json
from collections.abc import Sequence

from decoding.backends.contestants.servers.dialects.base import Ask, Json
from decoding.backends.contestants.servers.dialects.openai import OpenAI

TEXT = ("model", "prompt", "max_tokens", "seed", "stream", "stop")


class TransformersServe(OpenAI):
    name = "transformers"
    title = "transformers serve"
    met = "transformers 5.23.0"
    health = "/health"
    programs = ("transformers",)
    cache = "it keeps none between requests"

    def body(self, ask: Ask) -> Json:
        sampling = ask.sampling
        settings: Json = {"do_sample": False}
        if not sampling.is_greedy:
            settings = {"do_sample": True, "temperature": sampling.temperature, "top_k": sampling.top_k,
                        "top_p": sampling.top_p}  # fmt: skip
        settings["repetition_penalty"] = sampling.repetition_penalty
        settings["max_new_tokens"] = sampling.max_new_tokens
        body = {name: value for name, value in super().body(ask).items() if name in TEXT}
        return {**body, "generation_config": json.dumps(settings)}

    def model_in(self, command: Sequence[str]) -> str:
        return next(iter(command[list(command).index("serve") + 1 :]), "") if "serve" in command else ""

    def names(self, listed: Json) -> list[str]:
        """It lists what the machine has downloaded, not what it serves."""
        return []


DIALECT = TransformersServe()

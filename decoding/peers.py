"""The same weights decoded by the transformers library, timed on the same prompts.

Its loop is its own; forward hooks and a streamer tell which rounds it made. Reading the prompt happens inside its
first round, so that round is traced but counts as prefill. On a GPU the split between drafting and verifying is that
of the launches; the total is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, GenerationConfig

from decoding.ending import Ending
from decoding.events import Drafted, EventSink, Finished, Started, Verified
from decoding.loop import Decoded
from decoding.params import Value
from decoding.spec import Sampling
from decoding.timing import Clock


class TransformersPeer:
    """`generate`, with an assistant model or without."""

    def __init__(self, target: Path, draft: Path, dtype: torch.dtype, device: torch.device) -> None:
        self.device = device
        self.target, self.draft = (
            AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True, trust_remote_code=False)
            .to(device)
            .eval()
            for folder in (target, draft)
        )

    def decode(
        self,
        prompt: Sequence[int],
        params: Mapping[str, Value] | None,
        sampling: Sampling,
        seed: int,
        ending: Ending,
        sink: EventSink,
        clock: Clock,
    ) -> Decoded:
        """With `params` of the assisted strategy, or without an assistant where they are None."""
        rounds = _Rounds(len(prompt), clock)
        for model in (self.target, self.draft):  # a setting left empty in the call is filled in from here
            model.generation_config.eos_token_id = sorted(ending.end_tokens) or None
        extra: dict[str, Any] = {}
        if params is not None:
            config = self.draft.generation_config
            config.num_assistant_tokens = params["lookahead"]
            config.num_assistant_tokens_schedule = params["schedule"]
            config.assistant_confidence_threshold = params["threshold"]
            extra["assistant_model"] = self.draft
        torch.manual_seed(seed % 2**63)
        ids = torch.tensor([list(prompt)], device=self.device)
        with rounds.watching(self.target, self.draft), torch.inference_mode():
            output = self.target.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                generation_config=_generation_config(sampling, ending),
                streamer=rounds,
                **extra,
            )
        tokens: list[int] = output[0, len(prompt) :].tolist()
        ended = ending.find(tokens, len(tokens))
        kept, reason = ended or (len(tokens), "length")
        rounds.emit(sink, kept, reason, lookahead=int(params["lookahead"]) if params else 0)
        return Decoded(tokens[:kept], reason)


def _generation_config(sampling: Sampling, ending: Ending) -> GenerationConfig:
    chance: dict[str, Any] = {"do_sample": False}
    if not sampling.is_greedy:
        chance = {
            "do_sample": True,
            "temperature": sampling.temperature,
            "top_k": sampling.top_k,
            "top_p": sampling.top_p,
        }
    ends = sorted(ending.end_tokens)
    return GenerationConfig(
        max_new_tokens=sampling.max_new_tokens,
        repetition_penalty=sampling.repetition_penalty,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
        **chance,
    )


class _Rounds:
    """A streamer and two hooks: when each model ran, on how many tokens, and what came of it."""

    def __init__(self, prompt_tokens: int, clock: Clock) -> None:
        self.prompt_tokens = prompt_tokens
        self.clock = clock
        self.passes: list[tuple[list[int], int, int]] = []  # the target's: ids it read, start, end
        self.draft_passes: list[int] = []  # the draft's, per target pass
        self.emitted: list[list[int]] = []
        self._drafting = 0
        self._began = 0

    def watching(self, target: torch.nn.Module, draft: torch.nn.Module) -> _Hooks:
        return _Hooks(
            target.register_forward_pre_hook(self._before_target, with_kwargs=True),
            target.register_forward_hook(self._after_target),
            draft.register_forward_hook(self._after_draft),
        )

    def put(self, value: Tensor) -> None:
        """Called by generate: first with the prompt, then with the new tokens of each round."""
        self.emitted.append(value.reshape(-1).tolist())

    def end(self) -> None:
        pass

    def emit(self, sink: EventSink, kept: int, reason: Any, lookahead: int) -> None:
        new = self.emitted[1:]
        first_end = self.passes[0][2] if self.passes else 0
        sink.emit(Started(self.prompt_tokens, first_end))
        position, free_since = self.prompt_tokens, 0
        for number, (tokens, (read, began, ended), passes) in enumerate(
            zip(new, self.passes, self.draft_passes, strict=True), start=1
        ):
            drafted = tuple(read[self.prompt_tokens :] if number == 1 else read[1:])
            if drafted:
                sink.emit(
                    Drafted(number, position, lookahead, drafted, (), (), "limit", "fresh", passes, free_since, began)
                )
            outcome = "bonus" if len(tokens) == len(drafted) + 1 else "correction"
            sink.emit(Verified(number, len(tokens) - 1, tokens[-1], outcome, began - free_since, began, ended))  # type: ignore[arg-type]
            position, free_since = position + len(tokens), ended
        sink.emit(Finished(reason, kept, self.clock.now()))

    def _before_target(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        self._read: list[int] = ids[0].tolist()
        self._began = self.clock.now()

    def _after_target(self, module: Any, args: Any, output: Any) -> None:
        self.passes.append((self._read, self._began, self.clock.now()))
        self.draft_passes.append(self._drafting)
        self._drafting = 0

    def _after_draft(self, module: Any, args: Any, output: Any) -> None:
        self._drafting += 1


class _Hooks:
    """Removes forward hooks at the end of a with-block."""

    def __init__(self, *handles: torch.utils.hooks.RemovableHandle) -> None:
        self.handles = handles

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for handle in self.handles:
            handle.remove()

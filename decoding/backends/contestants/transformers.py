"""The transformers library as a contestant: its `generate` on the same weights, on the same prompts.

The library runs its own loop; forward hooks and a streamer record the rounds. It reads the prompt inside its first
round, so that round is traced but counts as prefill. On a GPU the hooks time launches, not the work itself: the split
between drafting and verifying is approximate, the total is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from decoding.backends.contestants.base import Answers, Contestant, Request, SinkFor
from decoding.core.ending import Decoded
from decoding.core.load import ONE, Arrived, Load, RequestQueue
from decoding.drafting.params import Param
from decoding.drafting.strategy import Looks, Strategy
from decoding.errors import BadStrategy
from decoding.trace.events import Drafted, EventSink, Finished, Started, Verified
from decoding.trace.timing import Clock

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor

    from decoding.backends.pair import ModelPair
    from decoding.choice import Choice

ASSISTED = Strategy(
    slug="assisted",
    title="Assisted (transformers)",
    summary="generate(assistant_model=…) of the transformers library on the same weights.",
    role="peer",
    order=9,
    looks=Looks("✚", "M-2.6,-8H2.6V-2.6H8V2.6H2.6V8H-2.6V2.6H-8V-2.6H-2.6Z", "#009e73", "#2fc29b", 36),
    params=(
        Param("lookahead", "int", 20, "num_assistant_tokens", 1, 64),
        Param("threshold", "float", 0.4, "assistant_confidence_threshold; 0 switches it off", 0.0, 1.0),
        Param("schedule", "choice", "constant", "num_assistant_tokens_schedule", choices=("constant", "heuristic")),
    ),
    remark="is the transformers library on the same weights",
)
COPYING = Strategy(
    slug="transformers-lookup",
    title="Prompt lookup (transformers)",
    summary="generate(prompt_lookup_num_tokens=…) of the transformers library on the same weights.",
    role="peer",
    order=13,
    looks=Looks("✖", "M-8,-5L-5,-8L0,-3L5,-8L8,-5L3,0L8,5L5,8L0,3L-5,8L-8,5L-3,0Z", "#cd766f", "#ce6a6e", 173),
    params=(
        Param("lookahead", "int", 10, "prompt_lookup_num_tokens", 1, 64),
        Param("ngram", "int", 2, "max_matching_ngram_size", 1, 32),
    ),
    remark="is the transformers library on the same weights",
    needs_draft=False,
)
SPECS = (ASSISTED, COPYING)


def contestant(pair: ModelPair) -> Contestant:
    return Transformers(pair)


class Transformers(Contestant):
    """Runs `generate` as the choice says: with the draft as its assistant, or with prompt lookup."""

    def __init__(self, pair: ModelPair) -> None:
        self._pair = pair

    @cached_property
    def models(self) -> tuple[Any, Any]:
        """Target and draft, if there is one, loaded a second time, for this contestant alone, at first use."""
        pair = self._pair
        assert pair.target_folder is not None
        return self._load(pair.target_folder), self._load(pair.draft_folder) if pair.draft_folder else None

    def _load(self, folder: Path) -> Any:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=self._pair.dtype, use_safetensors=True, trust_remote_code=False
        )
        return model.to(self._pair.target.device).eval()

    def begin(self, choices: Sequence[Choice]) -> None:
        if self._pair.bridge and any(choice.strategy == ASSISTED.slug for choice in choices):
            raise BadStrategy(
                "assisted needs one tokenizer for both models, and those of this pair differ. Leave it out."
            )

    def run(
        self, requests: Iterable[Request], sink_for: SinkFor, cancelled: Callable[[], bool], load: Load = ONE
    ) -> Answers:
        """Answer one request after another: assisted generation takes one text at a time, so the others wait."""
        queue, clock = RequestQueue(requests, load), Clock()
        while not cancelled():
            queue.arrive(clock.now())
            if not queue.is_empty:
                arrived = queue.take()
                decoded = self._generate(arrived, sink_for(arrived.request), clock.now())
                queue.answered()
                with clock.stopped():  # what the caller does with the text
                    yield arrived.request, decoded
            elif queue.is_over:
                return
            else:
                queue.wait(clock.now, cancelled)

    def runner(self, choice: Choice) -> str:
        return "transformers"

    def hardware(self, choice: Choice, longest: int = 0) -> str:
        from decoding.models.devices import described

        device = described(self._pair.target.device)
        return device if choice.load == ONE else f"{device}; generate answers requests one after another"

    def _generate(self, arrived: Arrived[Request], sink: EventSink, began_ns: int) -> Decoded:
        import torch

        request, clock = arrived.request, Clock()
        target, draft = self.models
        for model in filter(None, (target, draft)):  # what the call leaves empty comes from here
            model.generation_config.eos_token_id = sorted(request.ending.end_tokens) or None
        torch.manual_seed(request.seed % 2**63)
        rounds = _Rounds(len(request.prompt), clock)
        ids = torch.tensor([list(request.prompt)], device=target.device)
        with rounds.watching(target, draft), torch.inference_mode():
            output = target.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                generation_config=_generation_config(request),
                streamer=rounds,
                **self._assistant(request, draft),
            )
        tokens: list[int] = output[0, len(request.prompt) :].tolist()
        kept, reason = request.ending.find(tokens, len(tokens)) or (len(tokens), "length")
        sink.emit(Started(len(request.prompt), rounds.prefill_ns, arrived.at_ns, began_ns - arrived.at_ns))
        rounds.emit(sink, kept, reason, lookahead=int(request.choice.params.get("lookahead", 0)))
        return Decoded(tokens[:kept], reason)

    def _assistant(self, request: Request, draft: Any) -> dict[str, Any]:
        """Return the arguments that make `generate` draft, if the choice does."""
        params = request.choice.params
        if request.choice.strategy == COPYING.slug:
            return {"prompt_lookup_num_tokens": params["lookahead"], "max_matching_ngram_size": params["ngram"]}
        if request.choice.strategy != ASSISTED.slug:
            return {}
        config = draft.generation_config
        config.num_assistant_tokens = params["lookahead"]
        config.num_assistant_tokens_schedule = params["schedule"]
        config.assistant_confidence_threshold = params["threshold"]
        return {"assistant_model": draft}


def _generation_config(request: Request) -> Any:
    from transformers import GenerationConfig

    ends, settings = sorted(request.ending.end_tokens), request.sampling.for_transformers()
    return GenerationConfig(**settings, eos_token_id=ends or None, pad_token_id=ends[0] if ends else 0)


class _Rounds:
    """A streamer and three hooks. They note when each model ran, on how many tokens, and which tokens resulted."""

    def __init__(self, prompt_tokens: int, clock: Clock) -> None:
        self.prompt_tokens = prompt_tokens
        self.clock = clock
        self.passes: list[tuple[list[int], int, int]] = []  # the target's: ids it read, start, end
        self.draft_passes: list[int] = []  # the draft's, per target pass
        self.emitted: list[list[int]] = []
        self._drafting = 0
        self._began = 0

    @contextmanager
    def watching(self, target: torch.nn.Module, draft: torch.nn.Module | None) -> Iterator[None]:
        hooks = [
            target.register_forward_pre_hook(self._before_target, with_kwargs=True),
            target.register_forward_hook(self._after_target),
            *([draft.register_forward_hook(self._after_draft)] if draft else []),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def put(self, value: Tensor) -> None:
        """Take what `generate` streams: first with the prompt, then with the new tokens of each round."""
        self.emitted.append(value.reshape(-1).tolist())

    def end(self) -> None:
        pass

    @property
    def prefill_ns(self) -> int:
        return self.passes[0][2] if self.passes else 0

    def emit(self, sink: EventSink, kept: int, reason: Any, lookahead: int) -> None:
        new = self.emitted[1:]
        position, free_since = self.prompt_tokens, 0
        for number, (tokens, (read, began, ended), passes) in enumerate(
            zip(new, self.passes, self.draft_passes, strict=True), start=1
        ):
            drafted = tuple(read[self.prompt_tokens :] if number == 1 else read[1:])
            if drafted:
                source = "fresh" if passes else "copied"
                sink.emit(
                    Drafted(number, position, lookahead, drafted, (), (), "limit", source, passes, free_since, began)  # type: ignore[arg-type]
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

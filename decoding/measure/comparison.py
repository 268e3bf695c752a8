"""A comparison: every strategy on the same prompts and the same warm models, interleaved prompt by prompt in rotated
order, so that drift of the machine hits all alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from decoding import chance
from decoding.contestants.base import Request
from decoding.ending import Decoded, Ending
from decoding.errors import BadPrompt, OutOfMemory
from decoding.events import Event, EventSink, Prompted, Recorder, Started
from decoding.loop import never
from decoding.measure.audit import audit
from decoding.measure.summary import Audit, Sample, sample_from_events
from decoding.pair import Pair
from decoding.prompts.prompt import Prompt
from decoding.spec import Choice, Sampling
from decoding.strategies import BASELINE

WARM_UP_TOKENS = 16


class _Tee:
    """A sink that keeps a sample's events for its summary and passes each on, with the prompt's tokens if given."""

    def __init__(self, sink: EventSink, prompt: Sequence[int]) -> None:
        self.recorder = Recorder()
        self.sink = sink
        self.prompt = prompt

    def emit(self, event: Event) -> None:
        self.recorder.emit(event)
        self.sink.emit(event)
        if self.prompt and isinstance(event, Started):
            self.sink.emit(Prompted(tuple(self.prompt), event.prefill_ns))


@dataclass(frozen=True)
class Key:
    """The name of one sample of a comparison."""

    choice: Choice
    prompt: Prompt
    repeat: int


SinkFor = Callable[[Key], EventSink]


def no_sink(key: Key) -> EventSink:
    return Recorder()


@dataclass
class Comparison:
    pair: Pair
    prompts: Sequence[Prompt]
    choices: Sequence[Choice]
    sampling: Sampling
    repeats: int = 1
    sink_for: SinkFor = no_sink
    cancelled: Callable[[], bool] = never
    _tokens: dict[str, list[int]] = field(default_factory=dict)

    def warm_up(self) -> None:
        """Run each strategy once, shortly: first passes pay for allocation and compilation. Nothing of it counts."""
        short = dataclasses.replace(self.sampling, max_new_tokens=min(WARM_UP_TOKENS, self.sampling.max_new_tokens))
        for choice in self.choices:
            self.decode(Key(choice, self.prompts[0], 0), Recorder(), short)

    def schedule(self) -> Iterator[list[Key]]:
        """Yield every sample in the order in which they run, one list per prompt and repeat."""
        for repeat in range(self.repeats):
            for number, prompt in enumerate(self.prompts):
                turn = (number + repeat) % len(self.choices)
                yield [Key(c, prompt, repeat) for c in (*self.choices[turn:], *self.choices[:turn])]

    def run(self, done: Callable[[Sample], None] = lambda sample: None) -> Iterator[list[Sample]]:
        """Decode everything and yield the audited samples of one prompt at a time. `done` gets each sample at once."""
        for group in self.schedule():
            samples = []
            for key in group:
                if self.cancelled():
                    return
                samples.append(self.sample(key))
                done(samples[-1])
            yield self.audited(group[0].prompt, samples)

    def sample(self, key: Key) -> Sample:
        """Decode one prompt by one strategy."""
        is_first = key.choice.strategy == BASELINE and key.repeat == 0
        tee = _Tee(self.sink_for(key), self.tokens(key.prompt) if is_first else ())
        decoded = self.decode(key, tee)
        return sample_from_events(
            tee.recorder.events,
            choice=key.choice,
            prompt=key.prompt.id,
            category=key.prompt.category,
            repeat=key.repeat,
            tokens=decoded.tokens,
            text=self._ending(self.sampling).text(decoded.tokens),
        )

    def audited(self, prompt: Prompt, samples: Sequence[Sample]) -> list[Sample]:
        """Compare each sample of one prompt and repeat with autoregressive's, if that is among them."""
        baseline = next((s for s in samples if s.strategy == BASELINE), None)
        if baseline is None:
            return list(samples)
        return [dataclasses.replace(s, audit=self._audit(prompt, s, baseline)) for s in samples]

    def tokens(self, prompt: Prompt) -> list[int]:
        """Encode the prompt as both models read it. Refuse one that is empty or too long, and name it."""
        if prompt.id not in self._tokens:
            tokens = self.pair.tokenizer.encode(prompt.text)
            room = self.pair.target.context
            if not tokens:
                raise BadPrompt(f"Prompt {prompt.id} is empty, so there is nothing to continue; remove it.")
            if len(tokens) >= room:
                raise BadPrompt(
                    f"Prompt {prompt.id} has {len(tokens)} tokens and the target holds {room}, which leaves no room "
                    "for an answer; shorten it, leave it out, or take a target with a longer context."
                )
            self._tokens[prompt.id] = tokens
        return self._tokens[prompt.id]

    def decode(self, key: Key, sink: EventSink, sampling: Sampling | None = None) -> Decoded:
        """Decode one sample. Its events go to the sink."""
        request = self._request(key, sampling or self.sampling)
        with _memory_for(key):
            [(_, decoded)] = self.pair.contestant(key.choice).run([request], lambda _: sink, self.cancelled)
        return decoded

    def _request(self, key: Key, sampling: Sampling) -> Request:
        seed = self.seed(key.prompt, key.repeat)
        return Request(key.choice, self.tokens(key.prompt), sampling, seed, self._ending(sampling))

    def _audit(self, prompt: Prompt, sample: Sample, baseline: Sample) -> Audit:
        choice = next(choice for choice in self.choices if choice.label == sample.strategy)
        if not self.pair.contestant(choice).must_match(self.sampling):
            return Audit("not_compared")
        with torch.inference_mode():
            return audit(
                sample.tokens,
                baseline.tokens,
                self.tokens(prompt),
                target=self.pair.target,
                dtype=self.pair.dtype,
                sampling=self.sampling,
                seed=self.seed(prompt, sample.repeat),
                vocab=self.pair.vocab,
            )

    def seed(self, prompt: Prompt, repeat: int) -> int:
        return chance.seed_for(self.sampling.seed, prompt.id, repeat)

    def _ending(self, sampling: Sampling) -> Ending:
        ends = frozenset() if sampling.ignore_eos else self.pair.end_tokens
        return Ending(ends, sampling.stop, self.pair.tokenizer.decode)


@contextmanager
def _memory_for(key: Key) -> Iterator[None]:
    """Name the sample for which memory ran out."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        why = str(error).partition("\n")[0] or "the allocation failed"
        raise OutOfMemory(
            f"There was not enough memory for prompt {key.prompt.id} under {key.choice.label} ({why}). Use a "
            "shorter context, a shorter draft, or a smaller number format."
        ) from error


def _is_out_of_memory(error: Exception) -> bool:
    """On a CPU torch says so only in words."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)

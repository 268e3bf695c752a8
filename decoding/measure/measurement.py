"""A comparison: every strategy on the same prompts and the same warm models."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import torch

from decoding.backends.contestants.base import Backend, Request
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.ending import Decoded, Ending
from decoding.core.load import ONE, due_times
from decoding.core.loop import OnProgress, never, unheard
from decoding.dice import chance
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt, BrokenModel, DrafthouseError, OutOfMemory
from decoding.measure.audit import alike, audit, respelled, with_end
from decoding.measure.reading import PromptReader
from decoding.measure.sample import Audit, SampleResult, sample_from_events
from decoding.measure.schedule import SampleKey, schedule, stints
from decoding.models.fast.capturing import Capturing
from decoding.prompts.prompt import PromptItem, first_turns
from decoding.strategies import BASELINE
from decoding.trace.events import Event, EventSink, Finished, NullSink, Prompted, Recorder, Started

WARM_UP_TOKENS = 16  # at most, on a CPU
WARM_UP_S, LONGEST_WARM_UP_S = 1.0, 10.0  # of one choice: from here on alike rounds are enough, and then any
ALIKE = 0.2  # share by which two rounds may differ
ARRIVALS = 8  # requests of an open loop that arrive before the first that counts


class _Tee:
    """A sink that keeps a sample's events for its summary and passes each on, with the prompt's tokens if given."""

    def __init__(self, sink: EventSink, prompt: Sequence[int]) -> None:
        self.recorder = Recorder()
        self.sink = sink
        self.prompt = prompt
        self.captures = -Capturing.made

    def emit(self, event: Event) -> None:
        if isinstance(event, Finished):
            self.captures += Capturing.made
        self.recorder.emit(event)
        self.sink.emit(event)
        if self.prompt and isinstance(event, Started):
            self.sink.emit(Prompted(tuple(self.prompt), event.prefill_ns))


SinkFor = Callable[[SampleKey], EventSink]


def no_sink(key: SampleKey) -> EventSink:
    return Recorder()


class Warmed:
    """Tells when a choice is warm: a second after it began, as soon as two rounds in a row cost alike, and in any case
    after some seconds. Rounds of a small model take milliseconds, so it decodes all that it may. The loop asks before
    every round."""

    def __init__(self, cancelled: Callable[[], bool], now: Callable[[], float] = time.perf_counter) -> None:
        self._cancelled, self._now = cancelled, now
        self._asked: list[float] = []

    def __call__(self) -> bool:
        self._asked.append(self._now())
        _, *rounds = [after - before for before, after in itertools.pairwise(self._asked)] or [0.0]  # first the prompt
        spent = self._asked[-1] - self._asked[0]
        is_alike = len(rounds) > 1 and abs(rounds[-1] - rounds[-2]) <= ALIKE * max(rounds[-2:])
        is_warm = (spent > WARM_UP_S and is_alike) or (spent > LONGEST_WARM_UP_S and bool(rounds))
        return self._cancelled() or is_warm


@dataclass
class Measurement:
    pair: Backend
    prompts: Sequence[PromptItem]
    choices: Sequence[Choice]
    sampling: Sampling
    repeats: int = 1
    sink_for: SinkFor = no_sink
    cancelled: Callable[[], bool] = never
    reading: PromptReader = field(init=False)

    def __post_init__(self) -> None:
        self.reading = PromptReader(self.pair, self.prompts, self.sampling)

    def warm_up(self, is_thorough: bool | None = None, on_progress: OnProgress = unheard) -> None:
        """Run each choice shortly: first passes pay for allocation and compilation. Nothing of it counts.

        A GPU captures each form of a pass when the form comes a second time, and a text twice as long has other forms.
        So there (`is_thorough`) the shortest prompt, and of those up to each doubling of its length the longest, are
        continued to the end, twice. Elsewhere a choice is warm when its rounds cost alike. `on_progress` gets the texts
        done and due."""
        is_thorough = self.is_on_gpu if is_thorough is None else is_thorough
        sampling = self.sampling
        able = (prompt for prompt in first_turns(self.prompts) if not self.refusal(prompt))
        if is_thorough:
            by_length = sorted(able, key=lambda prompt: len(prompt.text))
            longest = {(len(prompt.text) // (len(by_length[0].text) or 1)).bit_length(): prompt for prompt in by_length}
            prompts = [*by_length[:1], *longest.values()] * 2
        else:
            prompts = list(itertools.islice(able, 1))
            sampling = dataclasses.replace(sampling, max_new_tokens=min(WARM_UP_TOKENS, sampling.max_new_tokens))
        texts = list(itertools.product(prompts, self.choices))
        for done, (prompt, choice) in enumerate(texts):
            on_progress(done, len(texts))
            users = [self._request(SampleKey(choice, prompt, 0), sampling)] * choice.load.concurrency
            may_end_early = not is_thorough and choice.spec.role != "server"
            ends = Warmed(self.cancelled) if may_end_early else self.cancelled
            for _ in self.pair.contestant(choice).run(users, lambda _: Recorder(), ends, choice.load):
                pass
        on_progress(len(texts), len(texts))

    @property
    def is_on_gpu(self) -> bool:
        return self.pair.target is not None and self.pair.target.device.type != "cpu"

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest text, which sizes the caches of texts that are decoded together; 0: not known, or
        every text has the cache alone."""
        return self.reading.longest() if any(choice.load != ONE for choice in self.choices) else 0

    @property
    def models(self) -> ModelPair:
        """The pair of models, for what needs more than contestants. Servers alone have none."""
        assert isinstance(self.pair, ModelPair), "servers alone run no models here"
        return self.pair

    def schedule(self) -> Iterator[list[SampleKey]]:
        """Yield every sample in the order in which they run, group by group."""
        return schedule(self.prompts, self.choices, self.repeats)

    def run(self, on_progress: Callable[[int], None] = lambda count: None) -> list[SampleResult]:
        """Decode everything and return the audited samples; fewer after a cancellation. `on_progress` gets how many are
        decoded. Raise an error if a sample breaks, or if a prompt cannot be asked."""
        found = list[SampleResult]()
        for group in self.schedule():
            samples = list[SampleResult]()
            for stint in stints(group):
                for _, answer in self.decode_stint(stint) if not self.cancelled() else ():
                    if isinstance(answer, BrokenModel):
                        raise answer
                    samples.append(answer)
                    on_progress(len(found) + len(samples))
            if len(samples) < len(group):
                break  # cancelled on the way
            found += self.audited(samples)
        return found

    def try_stint(self, stint: Sequence[SampleKey]) -> Iterator[tuple[SampleKey, SampleResult | DrafthouseError]]:
        """Decode samples of one choice. An error that ends the stint, as where memory runs out, is the answer for all
        that are left of it."""
        left = list(stint)
        try:
            for key, answer in self.decode_stint(stint):
                left.remove(key)
                yield key, answer
        except DrafthouseError as error:
            yield from ((key, error) for key in left)

    def decode_stint(self, stint: Sequence[SampleKey]) -> Iterator[tuple[SampleKey, SampleResult | BrokenModel]]:
        """Decode samples of one choice at its load, and yield each when it is complete, or why it has no text.

        Under load other requests come before, between and after them, so that each meets the full load. Those are not
        measured."""
        choice, keys, sinks = stint[0].choice, dict[Request, SampleKey](), dict[Request, _Tee]()

        def sink_for(request: Request) -> EventSink:
            if request not in keys:
                return NullSink()
            key = keys[request]
            sinks[request] = _Tee(self.sink_for(key), request.prompt if _is_first(key) else ())
            return sinks[request]

        load = dataclasses.replace(choice.load, seed=self.sampling.seed + stint[0].repeat)
        requests = self._timed([self._request(key, self.sampling) for key in stint], stint)
        keys |= zip(requests, stint, strict=True)
        stream = self._stream(requests, stint)
        answers = self.pair.contestant(choice).run(stream, sink_for, self.cancelled, load)
        with memory_for(stint[0]), closing(answers):
            for request, answer in answers:
                if key := keys.pop(request, None):
                    yield key, answer if isinstance(answer, BrokenModel) else self._sample(key, answer, sinks[request])
                if not keys:
                    return

    def _stream(self, requests: Sequence[Request], stint: Sequence[SampleKey]) -> Iterable[Request]:
        """Return what arrives: a log as it is, and any other load between requests that keep the machine full."""
        load = stint[0].choice.load
        if load == ONE:
            return requests
        if load.recorded:
            return sorted(requests, key=lambda request: request.due_ns)
        return itertools.chain(self._before(stint), requests, self._after(stint))

    def _timed(self, requests: Sequence[Request], stint: Sequence[SampleKey]) -> list[Request]:
        """Give each request of a log its time after the first of them."""
        if not (load := stint[0].choice.load).recorded:
            return list(requests)
        due = due_times([key.prompt.at for key in stint], load, [prompt.at for prompt in self.prompts])
        return [dataclasses.replace(request, due_ns=ns) for request, ns in zip(requests, due, strict=True)]

    def _before(self, stint: Sequence[SampleKey]) -> Iterator[Request]:
        """Requests that fill the machine. Those of users end at different times, or all would ask in step for ever."""
        load = stint[0].choice.load
        count = ARRIVALS if load.is_open else load.concurrency
        for number, key in enumerate(itertools.islice(itertools.cycle(reversed(stint)), count), 1):
            length = max(1, self.sampling.max_new_tokens * number // count)
            yield self._request(key, dataclasses.replace(self.sampling, max_new_tokens=length))

    def _after(self, stint: Sequence[SampleKey]) -> Iterator[Request]:
        """Requests that keep the machine full until the last sample is complete."""
        return (self._request(key, self.sampling) for key in itertools.cycle(stint))

    def _sample(self, key: SampleKey, decoded: Decoded, tee: _Tee) -> SampleResult:
        sample = sample_from_events(
            tee.recorder.events,
            choice=key.choice,
            prompt=key.prompt.id,
            category=key.prompt.category,
            repeat=key.repeat,
            tokens=decoded.tokens,
            text=self._ending(self.sampling).text(decoded.tokens) if decoded.text is None else decoded.text,
        )
        rendered, answer = "", ""
        if key.choice.strategy == BASELINE:
            rendered, answer = self.reading.of_chat(key.prompt, key.repeat, decoded.tokens)
        turn, conversation = key.prompt.turn, self.reading.conversation(key.prompt)
        return dataclasses.replace(
            sample, turn=turn, conversation=conversation, rendered=rendered, answer=answer, captures=tee.captures
        )

    def remember(self, samples: Iterable[SampleResult]) -> None:
        """Keep the texts that others are audited against, at the lightest load there is: those of autoregressive, or of
        the first server if servers run alone."""
        model = self.choices[0] if self.pair.target is None else choose(BASELINE)
        choices = {choice.label: choice for choice in self.choices}
        for sample in samples:
            if choices[sample.strategy].settings == model.settings:
                self.reading.answered(sample)

    def audited(self, samples: Sequence[SampleResult]) -> list[SampleResult]:
        """Compare each sample with autoregressive's of the same prompt and repeat, if that is known."""
        self.remember(samples)
        found = [(sample, self.reading.baseline(sample.prompt, sample.repeat)) for sample in samples]
        return [dataclasses.replace(s, audit=self._audit(s, base)) if base else s for s, base in found]

    def refusal(self, prompt: PromptItem, repeat: int = 0) -> BadPrompt | None:
        """Return why a prompt cannot be asked: it is empty or too long, or an earlier turn has no answer."""
        try:
            self.tokens(prompt, repeat)
        except BadPrompt as refusal:
            return refusal
        return None

    def tokens(self, prompt: PromptItem, repeat: int = 0) -> list[int]:
        """Encode the prompt as both models read it; no tokens if no model is here. Refuse a prompt that is empty or too
        long, and name it."""
        return self.reading.tokens(prompt, repeat)

    def decode(self, key: SampleKey, sink: EventSink, sampling: Sampling | None = None) -> Decoded:
        """Decode one sample. Its events go to the sink."""
        request = self._request(key, sampling or self.sampling)
        with memory_for(key):
            [(_, answer)] = self.pair.contestant(key.choice).run([request], lambda _: sink, self.cancelled)
        if isinstance(answer, BrokenModel):
            raise answer
        return answer

    def _request(self, key: SampleKey, sampling: Sampling) -> Request:
        seed = self.seed(key.prompt, key.repeat)
        if key.prompt.max_tokens and key.prompt.max_tokens < sampling.max_new_tokens:
            sampling = dataclasses.replace(sampling, max_new_tokens=key.prompt.max_tokens)
        tokens, text = self.tokens(key.prompt, key.repeat), self.reading.text(key.prompt, key.repeat)
        return Request(key.choice, tokens, sampling, seed, self._ending(sampling), text, self.longest)

    def _audit(self, sample: SampleResult, baseline: SampleResult) -> Audit:
        choice = next(choice for choice in self.choices if choice.label == sample.strategy)
        prompt = next(prompt for prompt in self.prompts if prompt.id == sample.prompt)
        contestant = self.pair.contestant(choice)
        if not contestant.must_match(self.sampling):
            return Audit("not_compared")
        if self.pair.target is None:
            return alike(sample, baseline)
        tokens = self._as_expected(sample, baseline)
        with torch.inference_mode():
            return audit(
                tokens,
                baseline.tokens,
                self.tokens(prompt, sample.repeat),
                target=self.pair.target,
                dtype=self.pair.dtype,
                sampling=self.sampling,
                seed=self.seed(prompt, sample.repeat),
                vocab=self.pair.vocab,
                server_dtype=contestant.server_dtype(choice),
                unsent=() if sample.has_rounds or sample.reason != "eos" else self.pair.end_tokens,
            )

    def seed(self, prompt: PromptItem, repeat: int) -> int:
        return chance.seed_for(self.sampling.seed, prompt.id, repeat)

    def _ending(self, sampling: Sampling) -> Ending:
        ends = frozenset() if sampling.ignore_eos else self.pair.end_tokens
        return Ending(ends, sampling.stop, self.pair.tokenizer.decode if self.pair.tokenizer else None)

    def _as_expected(self, sample: SampleResult, baseline: SampleResult) -> Sequence[int]:
        """Return the sample's tokens; those of a server in the baseline's spelling."""
        tokenizer, tokens = self.pair.tokenizer, sample.tokens
        if sample.has_rounds or tokenizer is None:
            return tokens
        if sample.is_spelled:
            tokens = tuple(respelled(sample.text, baseline.tokens, tokenizer.decode, tokenizer.encode))
        return with_end(tokens, baseline.tokens, self.pair.end_tokens) if sample.reason == "eos" else tokens


def _is_first(key: SampleKey) -> bool:
    """Whether the sample records its prompt."""
    return key.choice.strategy == BASELINE and key.repeat == 0


@contextmanager
def memory_for(key: SampleKey) -> Iterator[None]:
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
    """Tell whether memory ran out. On a CPU torch says so only in its message."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)

"""One fair run: every strategy on the same prompts, the same warm models, interleaved prompt by prompt in rotated
order, so that drift of the machine hits all alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import torch

from decoding import chance
from decoding.audit import audit
from decoding.checkpoints import load
from decoding.choosing import Choosings
from decoding.devices import free_bytes
from decoding.dice import dice_for
from decoding.disco.classifier import Classifier, load_classifier
from decoding.ending import Ending
from decoding.errors import BadPrompt, BadStrategy, OutOfMemory
from decoding.events import EventSink, Recorder
from decoding.loop import Decoded, Request, decode, never
from decoding.misfit import misfit
from decoding.peers import TransformersPeer
from decoding.prompts import Prompt
from decoding.registry import Parts, build
from decoding.runner import ModelRunner
from decoding.spec import Choice, Sampling, choose
from decoding.ssd.memory import check_branches
from decoding.ssd.transport.draft_process import DraftProcess, placed
from decoding.ssd.transport.two_lanes import PLACEMENTS, Lanes, check_ranked_together, open_lanes
from decoding.summary import Audit, Sample, sample_from_events
from decoding.timing import Clock

WARM_UP_TOKENS = 16


class Tokenizer(Protocol):
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...


def no_classifier(name: str) -> None:
    return None


@dataclass
class Pair:
    """A target and a draft, resident, with what both read and write."""

    target: ModelRunner
    draft: ModelRunner
    tokenizer: Tokenizer
    end_tokens: frozenset[int]
    dtype: torch.dtype
    target_folder: Path | None = None  # where a peer finds the same weights
    draft_folder: Path | None = None
    classifier_at: Callable[[str], Path | None] = no_classifier  # name -> folder; no name asks for the pair's own
    fingerprints: tuple[str, str] | None = None  # of target and draft: a classifier must have been trained for them
    draft_process: DraftProcess | None = None  # where the draft can run beside the target
    again: Callable[[], Pair] | None = None  # how another process comes by the same pair; must survive pickling
    lanes: dict[str, Lanes] = field(default_factory=dict)  # by placement, as far as they were opened
    _classifiers: dict[str, Classifier] = field(default_factory=dict)

    @property
    def vocab(self) -> int:
        """The part of the vocabulary that both have: the rest is padding."""
        return min(self.target.vocab_size, self.draft.vocab_size)

    @cached_property
    def choosings(self) -> Choosings:
        """How its draft chooses where that means launching."""
        return Choosings(self.vocab, self.draft.device)

    @cached_property
    def peer(self) -> TransformersPeer:
        assert self.target_folder is not None and self.draft_folder is not None
        return TransformersPeer(self.target_folder, self.draft_folder, self.dtype, self.target.device)

    def classifier(self, name: str) -> Classifier:
        """The named one, or the pair's own where none is named."""
        if name not in self._classifiers:
            folder = self.classifier_at(name)
            if folder is None:
                raise BadStrategy(
                    f"disco needs a classifier and there is none {f'called {name}' if name else 'with this pair'}; "
                    "train one for the pair, or name one: disco:classifier=NAME."
                )
            self._classifiers[name] = load_classifier(folder, self.fingerprints)
        return self._classifiers[name]

    def begin(self, choices: Sequence[Choice]) -> None:
        """Start what they need besides the models. Says so in words where this machine cannot run one of them."""
        processes = [self.process_of(choice) for choice in choices]
        check_ranked_together(
            "beside" if p else c.params.get("placement") for c, p in zip(choices, processes, strict=True)
        )
        for choice, process in zip(choices, processes, strict=True):
            lanes = self.lanes_of(choice)
            device = torch.device("cpu") if process else lanes.draft.device if lanes else self.draft.device
            check_branches(choice, self.vocab, free_bytes(device))
        for process in processes:
            if process:
                process.begin()

    def close(self) -> None:
        if self.draft_process:
            self.draft_process.end()

    def process_of(self, choice: Choice) -> DraftProcess | None:
        """The draft's own, where the choice has it beside the target."""
        return placed(str(choice.params.get("placement", "in-turn")), self.draft_process)

    def lanes_of(self, choice: Choice) -> Lanes | None:
        """Where target and draft launch, if one thread drives both at once."""
        placement = str(choice.params.get("placement", ""))
        if placement in PLACEMENTS and placement not in self.lanes:
            self.lanes[placement] = open_lanes(placement, self.target, self.draft, self._draft_on)
        return self.lanes.get(placement)

    def _draft_on(self, device: torch.device) -> ModelRunner:
        assert self.draft_folder is not None
        dtype = str(self.dtype).removeprefix("torch.")
        return load(self.draft_folder, dtype=dtype, device=device, context=self.draft.context).runner

    def hardware_of(self, choice: Choice) -> str:
        """What the choice has to itself, for people."""
        process = self.process_of(choice)
        if process:
            return process.cores.with_target_on(self.target.device)
        lanes = self.lanes_of(choice)
        if lanes:
            return str(lanes)
        if self.target.device.type != "cpu":
            return str(self.target.device)
        threads = torch.get_num_threads()
        return f"{threads} core{'s' if threads > 1 else ''}"

    def misfits(self, choices: Sequence[Choice], sampling: Sampling) -> list[str]:
        """A warning for each strategy whose classifier was trained for another sampling."""
        named = [(c.label, str(c.params["classifier"])) for c in choices if "classifier" in c.params]
        found = [misfit(label, self.classifier(name).card, sampling) for label, name in named]
        return list(filter(None, found))

    def hold(self, name: str, classifier: Classifier) -> None:
        """Let a classifier that is not stored yet be asked for by name."""
        self._classifiers[name] = classifier


class _Tee:
    """Keeps a sample's events for its summary and passes each on."""

    def __init__(self, sink: EventSink) -> None:
        self.recorder = Recorder()
        self.sink = sink

    def emit(self, event: object) -> None:
        self.recorder.emit(event)  # type: ignore[arg-type]
        self.sink.emit(event)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Key:
    """Which sample: what a sink and a progress line are told."""

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
        """Every sample, one list per prompt and repeat, in the order in which they run."""
        for repeat in range(self.repeats):
            for number, prompt in enumerate(self.prompts):
                turn = (number + repeat) % len(self.choices)
                yield [Key(c, prompt, repeat) for c in (*self.choices[turn:], *self.choices[:turn])]

    def run(self, done: Callable[[Sample], None] = lambda sample: None) -> Iterator[list[Sample]]:
        """Decode everything, yielding the audited samples of one prompt at a time. `done` is told of each at once."""
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
        tee = _Tee(self.sink_for(key))
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
        """The samples of one prompt and repeat, each compared with autoregressive's among them."""
        baseline = next((s for s in samples if s.strategy == choose("autoregressive").label), None)
        if baseline is None:
            return list(samples)
        return [dataclasses.replace(s, audit=self._audit(prompt, s, baseline)) for s in samples]

    def tokens(self, prompt: Prompt) -> list[int]:
        """The prompt as both models read it. Refuses one that is empty or too long, naming it."""
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
        """One sample's tokens; what there is to say about them goes to the sink."""
        sampling = sampling or self.sampling
        prompt = self.tokens(key.prompt)
        seed = self.seed(key.prompt, key.repeat)
        ending = self._ending(sampling)
        process, lanes = self.pair.process_of(key.choice), self.pair.lanes_of(key.choice)
        place = process.cores if process else lanes
        clock = Clock()
        try:
            if key.choice.spec.role == "peer":
                return self.pair.peer.decode(prompt, key.choice.params, sampling, seed, ending, sink, clock)
            dice = dice_for(sampling, self.pair.vocab, seed)
            parts = Parts(
                self.pair.target,
                self.pair.draft,
                dice,
                clock,
                ending.end_tokens,
                self.pair.classifier,
                self.pair.choosings,
                process,
                lanes,
                self.pair.tokenizer.decode,
            )
            request = Request(prompt, sampling.max_new_tokens, ending)
            with torch.inference_mode(), place.for_target() if place else nullcontext():
                return decode(request, self.pair.target, build(key.choice, parts), dice, sink, clock, self.cancelled)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            why = str(error).partition("\n")[0] or "the allocation failed"
            raise OutOfMemory(
                f"There was not enough memory for prompt {key.prompt.id} under {key.choice.label} ({why}). Use a "
                "shorter context, a shorter draft, or a smaller number format."
            ) from error

    def _audit(self, prompt: Prompt, sample: Sample, baseline: Sample) -> Audit:
        peer = any(c.label == sample.strategy and c.spec.role == "peer" for c in self.choices)
        if not self.sampling.fixes_the_text or (peer and not self.sampling.is_greedy):
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


def _is_out_of_memory(error: Exception) -> bool:
    """On a CPU torch says so only in words."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error)

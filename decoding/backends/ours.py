"""Our engine as a contestant: the loop, `decoding.core.loop`, with what `decoding.backends.registry` builds."""

from __future__ import annotations

import itertools
from collections import abc, defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import torch

from decoding.backends.contestants.base import Answers, Contestant, Request, SinkFor
from decoding.backends.joint_probing import Probing
from decoding.backends.registry import Parts, build
from decoding.backends.serving import CachePool, TextCaches, serve
from decoding.choice import Choice
from decoding.core.batch_state import BatchState
from decoding.core.ending import Decoded
from decoding.core.load import ONE, Arrived, Load, RequestQueue
from decoding.core.loop import decode_all
from decoding.core.sequence import Sequence
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.errors import BrokenModel
from decoding.models.devices import described, free_bytes
from decoding.ssd.memory import check_branches
from decoding.ssd.transport.draft_process import Cores
from decoding.ssd.transport.two_lanes import Lanes, check_ranked_together
from decoding.trace.events import EventSink
from decoding.trace.timing import Clock
from decoding.vocabularies.shared import check_scores

if TYPE_CHECKING:  # a pair makes its contestants
    from decoding.backends.pair import ModelPair

SHARE_FOR_CACHES = 0.8  # of the memory that is free
AHEAD = 256  # tokens behind the longest text, so that drafts and branches see no end that the context has not


def contestant(pair: ModelPair) -> Contestant:
    return Ours(pair)


def room_for(longest: int) -> int:
    """Tokens that a place must hold; 0: the whole context."""
    return longest and longest + AHEAD


class Ours(Contestant):
    def __init__(self, pair: ModelPair, free: Callable[[torch.device], int] = free_bytes) -> None:
        """`free` returns how many bytes a device could still hold; by default the system says it."""
        self._pair = pair
        self._free = free
        self._memory: dict[str, dict[str, Any]] = {}  # by label, for one comparison
        self._states: dict[str, BatchState] = {}  # by label
        self._rooms: dict[torch.device, float] = {}

    @cached_property
    def places(self) -> CachePool:
        return self._pair.caches()

    def _room_on(self, device: torch.device) -> float:
        """Bytes for caches. Measured once, before there are any: later they would count as taken."""
        if device not in self._rooms:
            self._rooms[device] = self._free(device) * SHARE_FOR_CACHES
        return self._rooms[device]

    def run(
        self, requests: abc.Iterable[Request], sink_for: SinkFor, cancelled: Callable[[], bool], load: Load = ONE
    ) -> Answers:
        if load == ONE:
            return ((request, self._decode(request, sink_for(request), cancelled)) for request in requests)
        return self._serve(iter(requests), sink_for, cancelled, load)

    def _serve(
        self, requests: abc.Iterator[Request], sink_for: SinkFor, cancelled: Callable[[], bool], load: Load
    ) -> Answers:
        first = next(requests)
        apart = self._apart(first.choice)
        most, room = self._most(first.choice, load, first.longest), room_for(first.longest)
        state = self._state(first, most)

        def begin(arrived: Arrived[Request], place: TextCaches, clock: Clock, waited_ns: int) -> Sequence:
            sink = sink_for(arrived.request)
            return self._sequence(arrived.request, sink, place, clock, arrived.at_ns, waited_ns)

        queue = RequestQueue(itertools.chain([first], requests), load)
        with apart.for_target() if apart else nullcontext():
            yield from serve(queue, self.places, most, begin, cancelled, state, room)

    def _state(self, request: Request, most: int) -> BatchState:
        """Return the state of a choice's batches. It outlives the texts, because what it knows is about the machine."""
        choice = request.choice
        if choice.label not in self._states:
            costs = None
            if choice.spec.usual_source.prices_rounds:
                classifier = None if choice.classifier is None else self._pair.classifier(choice.classifier)
                room = room_for(request.longest)
                costs = Probing(self._pair, most, request.sampling, self.places, classifier, room).measured()
            self._states[choice.label] = BatchState(costs)
        return self._states[choice.label]

    def _most(self, choice: Choice, load: Load, longest: int) -> int:
        """How many texts may be decoded at once: as many as the load asks for, if memory holds their caches. The
        draft's process has its own, and so has a draft on a GPU of its own."""
        pair, lanes = self._pair, self._pair.lanes_of(choice)
        runners = [pair.target, pair.draft, pair.draft if pair.process_of(choice) else None]
        if lanes and lanes.runner is not pair.draft:
            runners.append(lanes.runner)
        each: dict[torch.device, int] = defaultdict(int)  # bytes of one text
        for runner in filter(None, runners):
            each[runner.device] += runner.model.bytes_for(room_for(longest))
        held = min(self._room_on(device) // taken for device, taken in each.items())
        return max(1, min(load.most_at_once, int(held)))

    def runner(self, choice: Choice) -> str:
        drafts = choice.spec.needs_draft
        runners = (self._pair.target, self._pair.draft if drafts else None)
        return " and ".join(dict.fromkeys(runner.facts.runner for runner in runners if runner))

    def hardware(self, choice: Choice, longest: int = 0) -> str:
        target, process, lanes = self._pair.target, self._pair.process_of(choice), self._pair.lanes_of(choice)
        alone = str(lanes) if lanes else described(target.device)
        told = [process.cores.with_target_on(target.device) if process else alone]
        if choice.load != ONE and (most := self._most(choice, choice.load, longest)) < choice.load.most_at_once:
            texts = f"{most} text{'s' if most > 1 else ''} of {room_for(longest) or target.context:,} tokens"
            told.append(f"memory holds the caches of {texts}, so other requests wait")
        if choice.load != ONE and target.facts.runner == "transformers":
            told.append("the transformers runner reads texts one after another")
        return "; ".join(told)

    def must_match(self, sampling: Sampling) -> bool:
        return sampling.fixes_the_text

    def begin(self, choices: abc.Sequence[Choice]) -> None:
        """Check memory and placements. Start the draft's process if a choice runs it beside the target."""
        self._memory.clear()
        pair = self._pair
        if pair.bridge:
            check_scores(pair.bridge.method, choices)
        processes = [pair.process_of(choice) for choice in choices]
        check_ranked_together("beside" if p else pair.placement_of(c) for c, p in zip(choices, processes, strict=True))
        for choice, process in zip(choices, processes, strict=True):
            lanes = pair.lanes_of(choice)
            device = (
                torch.device("cpu") if process else lanes.draft.device if lanes else (pair.draft or pair.target).device
            )
            check_branches(choice, pair.vocab, free_bytes(device))
        for process in filter(None, processes):
            process.begin()

    def _decode(self, request: Request, sink: EventSink, cancelled: Callable[[], bool]) -> Decoded | BrokenModel:
        pair, apart = self._pair, self._apart(request.choice)
        with torch.inference_mode(), apart.for_target() if apart else nullcontext():
            sequence = self._sequence(request, sink, TextCaches(pair.target, pair.draft), Clock())
            decode_all([sequence], cancelled, self._state(request, 1))
            return sequence.error or sequence.decoded

    def _apart(self, choice: Choice) -> Cores | Lanes | None:
        """Return what keeps target and draft apart, if anything does."""
        process = self._pair.process_of(choice)
        return process.cores if process else self._pair.lanes_of(choice)

    def _sequence(
        self,
        request: Request,
        sink: EventSink,
        place: TextCaches,
        clock: Clock,
        arrived_ns: int = 0,
        queued_ns: int = 0,
    ) -> Sequence:
        pair, choice = self._pair, request.choice
        dice = dice_for(request.sampling, pair.vocab, request.seed)
        parts = Parts(
            target=place.target,
            draft=pair.own(place.draft),
            dice=dice,
            clock=clock,
            end_tokens=request.ending.end_tokens,
            classifier=partial(pair.classifier, sampling=request.sampling),
            pickers=pair.pickers,
            draft_process=pair.process_of(choice),
            lanes=pair.lanes_of(choice),
            words=pair.words,
            bridge=pair.bridge,
            memory=self._memory.setdefault(choice.label, {}),
            is_joint=choice.load != ONE,
        )
        return Sequence(
            prompt=request.prompt,
            max_new_tokens=request.sampling.max_new_tokens,
            ending=request.ending,
            target=place.target,
            drafter=build(choice, parts),
            dice=dice,
            sink=sink,
            clock=clock,
            arrived_ns=arrived_ns,
            queued_ns=queued_ns,
        )

"""Our engine as a contestant: the loop in `decoding.loop`, with the drafters that `decoding.registry` builds."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

from decoding.contestants.base import Contestant, Request, SinkFor
from decoding.ending import Decoded
from decoding.events import EventSink
from decoding.timing import Clock

if TYPE_CHECKING:
    from decoding.pair import Pair
    from decoding.spec import Choice, Sampling
    from decoding.strategy import Strategy

SPECS: tuple[Strategy, ...] = ()  # ours are in decoding.strategies


def contestant(pair: Pair) -> Contestant:
    return Ours(pair)


class Ours(Contestant):
    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def run(
        self, requests: abc.Sequence[Request], sink_for: SinkFor, cancelled: Callable[[], bool]
    ) -> Iterator[tuple[Request, Decoded]]:
        for request in requests:
            yield request, self._decode(request, sink_for(request), cancelled)

    def runner(self, choice: Choice) -> str:
        drafts = choice.spec.role != "baseline"
        runners = [self._pair.target, self._pair.draft] if drafts else [self._pair.target]
        return " and ".join(dict.fromkeys(runner.facts.runner for runner in runners))

    def hardware(self, choice: Choice) -> str:
        from decoding.models.devices import described

        process, lanes = self._pair.process_of(choice), self._pair.lanes_of(choice)
        if process:
            return process.cores.with_target_on(self._pair.target.device)
        return str(lanes) if lanes else described(self._pair.target.device)

    def must_match(self, sampling: Sampling) -> bool:
        return sampling.fixes_the_text

    def begin(self, choices: abc.Sequence[Choice]) -> None:
        """Check memory and placements. Start the draft's process if a choice runs it beside the target."""
        import torch

        from decoding.models.devices import free_bytes
        from decoding.ssd.memory import check_branches
        from decoding.ssd.transport.two_lanes import check_ranked_together

        pair = self._pair
        if pair.bridge:
            pair.bridge.check(choices)
        processes = [pair.process_of(choice) for choice in choices]
        check_ranked_together(
            "beside" if p else c.params.get("placement") for c, p in zip(choices, processes, strict=True)
        )
        for choice, process in zip(choices, processes, strict=True):
            lanes = pair.lanes_of(choice)
            device = torch.device("cpu") if process else lanes.draft.device if lanes else pair.draft.device
            check_branches(choice, pair.vocab, free_bytes(device))
        for process in filter(None, processes):
            process.begin()

    def _decode(self, request: Request, sink: EventSink, cancelled: Callable[[], bool]) -> Decoded:
        import torch

        from decoding.dice import dice_for
        from decoding.loop import decode
        from decoding.registry import Parts, build
        from decoding.sequence import Sequence

        pair, choice = self._pair, request.choice
        process, lanes = pair.process_of(choice), pair.lanes_of(choice)
        place = process.cores if process else lanes
        clock = Clock()
        dice = dice_for(request.sampling, pair.vocab, request.seed)
        parts = Parts(
            target=pair.target,
            draft=pair.own_draft,
            dice=dice,
            clock=clock,
            end_tokens=request.ending.end_tokens,
            classifier=pair.classifier,
            choosings=pair.choosings,
            draft_process=process,
            lanes=lanes,
            words=pair.words,
            bridge=pair.bridge,
        )
        with torch.inference_mode(), place.for_target() if place else nullcontext():
            sequence = Sequence(
                prompt=request.prompt,
                max_new_tokens=request.sampling.max_new_tokens,
                ending=request.ending,
                target=pair.target,
                drafter=build(choice, parts),
                dice=dice,
                sink=sink,
                clock=clock,
            )
            return decode(sequence, cancelled)

"""Step of `bench card` that shows where a pass's time goes: on the device, by kernel, and on the host."""

from __future__ import annotations

import time

from torch import Tensor

from benchmarks._card import Card
from decoding.core.ending import Ending
from decoding.core.loop import decode
from decoding.core.sequence import Sequence
from decoding.dice.dice import Dice, dice_for
from decoding.dice.sampling import Sampling
from decoding.drafting.driver import DraftDriver
from decoding.drafting.source import Chain, View
from decoding.models.fast.fused import Kernels
from decoding.models.fast.runner import FastRunner
from decoding.trace.events import Recorder, Started, Verified
from decoding.trace.timing import Clock

PROMPT = 260  # with the new tokens in one bucket of slots
MOST_KERNELS = 30


def passes(card: Card) -> None:
    runner, size = card.runner(context=1024)
    prompt, steps = (20, 5) if card.is_tiny else (PROMPT, 100)
    text = [(7 * i + 3) % runner.vocab_size for i in range(prompt)]
    card.say(section="prompt", tokens=prompt, ms=1e3 * card.seconds(lambda: runner.extend(text)))
    for rows in (1, 2, 4, 6, 12):
        _by_rows(card, runner, text, rows)
    told = runner.decoder.kernels.told
    card.say(section="fused kernels", **told)
    _queued(card, runner, text, steps, size)
    drafter = DraftDriver(Chain(), View(), Dice(Sampling(), runner.vocab_size, 0))
    for drafter.drafts in (False, True):  # if it might draft, no pass begins before the host has read the last choice
        for turn in range(3):
            _decoded(card, runner, drafter, text, steps, size, turn)
    try:
        _kernels(card, runner, text)
    except Exception as error:  # a machine may forbid profiling; what follows needs none
        card.fails(error, part="kernels of a pass")
    if "used" in told.values() or card.is_tiny:
        runner.decoder.kernels = Kernels()
        plain = runner.model.new_runner()
        plain.extend(text)
        card.say(section="from here on without fused kernels")
        _by_rows(card, plain, text, 1)
        _queued(card, plain, text, steps, size)


def _by_rows(card: Card, runner: FastRunner, text: list[int], rows: int) -> None:
    """Time passes that follow each other without a wait, the best of six series; the first series captures."""

    def series() -> None:
        for _ in range(10):
            runner.rewind(len(text))
            runner.extend(text[:rows], rows)

    seconds = min(card.seconds(series) for _ in range(6))
    card.say(section="pass", rows=rows, ms=1e3 * seconds / 10)


def _queued(card: Card, runner: FastRunner, text: list[int], steps: int, size: int) -> None:
    """Time a chain of tokens that is queued without a wait: the device's time, and the host's to launch it."""
    launched = 0.0

    def chain(count: int) -> None:
        nonlocal launched
        start = time.perf_counter()
        logits = runner.extend(text[:1])
        for _ in range(count):
            logits = runner.extend(_next(logits))
        launched = time.perf_counter() - start

    runner.rewind(len(text))
    chain(4)
    runner.rewind(len(text))
    each = card.seconds(lambda: chain(steps)) / steps
    card.say(
        section="queued", ms=1e3 * each, host_ms=1e3 * launched / steps, GB=size / 1e9, **card.bandwidth(size, each)
    )


def _next(logits: Tensor) -> Tensor | list[int]:
    chosen = logits.argmax(-1)
    return chosen.tolist() if chosen.device.type == "cpu" else chosen


def _decoded(
    card: Card, runner: FastRunner, drafter: DraftDriver, text: list[int], steps: int, size: int, turn: int
) -> None:
    """Time a token in the real loop. The first turn captures."""
    sampling, recorder = Sampling(max_new_tokens=steps, ignore_eos=True), Recorder()
    dice, ending = dice_for(sampling, runner.vocab_size, 1), Ending(frozenset())
    decode(Sequence(text, steps, ending, runner, drafter, dice, recorder, Clock()))
    rounds = [event for event in recorder.events if isinstance(event, Verified)]
    read = next(event.prefill_ns for event in recorder.events if isinstance(event, Started))
    each = (rounds[-1].end_ns - rounds[0].end_ns) / (len(rounds) - 1) / 1e9
    row = {"waits": drafter.drafts, "turn": turn, "prefill_ms": read / 1e6}
    card.say(section="loop", **row, ms=1e3 * each, **card.bandwidth(size, each))


def _kernels(card: Card, runner: FastRunner, text: list[int]) -> None:
    """List the kernels of a pass by their time."""
    from torch.profiler import ProfilerActivity, profile

    passes = 5
    with profile(activities=[ProfilerActivity.CPU if card.is_tiny else ProfilerActivity.CUDA]) as seen:
        for _ in range(passes):
            runner.rewind(len(text))
            runner.extend(text[:1])
        card.wait()
    kernels = sorted(seen.key_averages(), key=lambda kernel: -kernel.self_device_time_total)
    count, us = sum(k.count for k in kernels) / passes, sum(k.self_device_time_total for k in kernels) / passes
    card.say(section="kernels", count=count, us=us)
    for kernel in kernels[:MOST_KERNELS]:
        us = kernel.self_device_time_total / passes
        card.say(section="kernel", name=kernel.key[:100], count=kernel.count / passes, us=round(us, 1))

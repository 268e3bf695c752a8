"""Replies about a comparison in the terminal: printed as they come, and kept for its document and trace."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

from decoding.core.load import ONE
from decoding.measure.ranking import are_too_few, outlook
from decoding.measure.sample import SampleResult
from decoding.trace.events import Event, to_dict
from worker import noise
from worker.jobs.comparison.messages import (
    READING,
    Audited,
    Began,
    Broke,
    SampleDecoded,
    SampleId,
    TracesGrown,
    Tuned,
    Weighed,
    called,
)
from worker.messages import JobProgress, PairLoaded, Reply
from worker.terminal.arguments import Arguments
from worker.terminal.ending import Interrupt
from worker.terminal.progress import ProgressLines, described, say

NAMED = 8  # reasons why samples are left out; of more only the number of samples


class Heard:
    """Prints what a comparison reports, and keeps what its document is made of."""

    loaded: PairLoaded

    def __init__(self, args: Arguments, trace: TraceFile | None, beside: Sequence[int], interrupt: Interrupt) -> None:
        """`beside`: processes that take part in the measurement."""
        self.samples: list[SampleResult] = []  # of every prompt that all strategies have finished
        self.left_out: list[SampleId] = []
        self.why = ""  # the first of these is left out
        self.prices: Mapping[str, Any] = {}
        self.noise = ""
        self._args, self._trace, self._beside, self._interrupt = args, trace, beside, interrupt
        self._before = noise.mark(os.getpid(), beside)
        self._lines = ProgressLines(sys.stderr)
        self._decoded_count = self._tokens = 0
        self._began = 0.0  # when the first sample did
        self._reasons = 0

    def emit(self, reply: Reply) -> None:
        match reply:
            case JobProgress():
                self._step(reply)
            case PairLoaded():
                self._loaded(reply)
            case Tuned() | Weighed():
                self._warmed_up(reply)
            case Began():
                self._begin()
            case SampleDecoded():
                self._decoded(reply.sample)
            case Broke():
                self._broke(reply)
            case Audited() | TracesGrown():
                self._keep(reply)

    def close(self) -> None:
        self._lines.close()
        if self._began:
            self.noise = self._others()

    @property
    def is_complete(self) -> bool:
        return len(self.samples) + len(self.left_out) == self._args.sample_count

    def warnings(self) -> list[str]:
        """Say how many samples have no text, and why the first of them has none."""
        count = len(self.left_out)
        number = f"{count} samples were" if count > 1 else "1 sample was"
        return [f"{number} left out. {called(self.left_out[0])}: {self.why}"] if count else []

    def _others(self) -> str:
        return noise.between(self._before, noise.mark(os.getpid(), self._beside))

    def _begin(self) -> None:
        """Start the clock at the first sample."""
        if self._began:
            return
        self._began = time.monotonic()
        self._show("")
        self._before = noise.mark(os.getpid(), self._beside)

    def _show(self, detail: str) -> None:
        done, total = self._decoded_count, self._args.sample_count
        self._lines.show(JobProgress("decoding", done, total, detail, whole=(done, total), is_counted=True))

    def _step(self, step: JobProgress) -> None:
        if self._interrupt.is_asked:
            raise KeyboardInterrupt
        if step.phase != READING:
            self._lines.show(step)

    def _loaded(self, loaded: PairLoaded) -> None:
        self.loaded = loaded
        announce(self._args, loaded)
        if others := self._others():
            say(crowded(others, loaded.hardware["threads"]))

    def _warmed_up(self, found: Tuned | Weighed) -> None:
        if isinstance(found, Tuned):
            self.loaded = replace(self.loaded, hardware=found.hardware)
            return
        self.prices = found.prices
        if found.trouble:
            say(found.trouble)

    def _keep(self, reply: Audited | TracesGrown) -> None:
        if isinstance(reply, Audited):
            self.samples += reply.samples
        if self._trace:
            self._trace.hear(reply)

    def _decoded(self, sample: SampleResult) -> None:
        self._decoded_count += 1
        self._tokens += sample.count
        self._show(f"{self._tokens / (time.monotonic() - self._began):.0f} tokens/s, {sample.strategy}")

    def _broke(self, reply: Broke) -> None:
        self.why = self.why or reply.sentence
        self.left_out += reply.samples
        self._reasons += 1
        self._lines.close()
        if self._reasons <= NAMED:
            whose = f"{called(reply.samples[0])}: " if len(reply.samples) == 1 else ""
            say(f"Left out: {whose}{reply.sentence}")


class TraceFile:
    """Every round of every sample as JSON lines: an event, and before it whose it is. Events stay in memory while
    samples are timed, and are written when all of a prompt's are done."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._pending: defaultdict[SampleId, list[Event]] = defaultdict(list)

    def hear(self, reply: Audited | TracesGrown) -> None:
        if isinstance(reply, Audited):
            self._write()
        else:
            for grew in reply.traces:
                self._pending[grew.which] += grew.events

    def _write(self) -> None:
        for which, events in self._pending.items():
            whose = dict(zip(("strategy", "prompt", "repeat"), which, strict=True))
            for seq, event in enumerate(events, start=1):
                record = to_dict(event, seq)
                if "prompt" in record:  # the line's own `prompt` is the id
                    record["tokens"] = record.pop("prompt")
                self._file.write(json.dumps({**whose, **record}, separators=(",", ":")) + "\n")
        self._pending.clear()


def announce(args: Arguments, loaded: PairLoaded) -> None:
    """Print what is about to run."""
    prompts = args.material.prompts.name + (f", {args.material.split} split" if args.material.split else "")
    repeats = f" × {args.repeats} repeats" if args.repeats > 1 else ""
    for line in described(args.material.name, loaded):
        say(line)
    count = f"{len(args.prompts)} prompt" + ("s" if len(args.prompts) > 1 else "")
    number = len(args.choices) // len(args.loads)
    strategies = f"{number} strateg" + ("ies" if number > 1 else "y")
    at = "" if args.loads == (ONE,) else f", at {', '.join(map(str, args.loads))}"
    say(f"{count} of {prompts} × {strategies}{repeats}{at}")
    if are_too_few(len(args.prompts), number - 1):
        say(outlook(len(args.prompts), number - 1))
    on = loaded.hardware["by_strategy"]
    [(usual, _)] = Counter(on.values()).most_common(1)
    for label, hardware in on.items():
        if hardware != usual or ";" in hardware:  # it has cores of its own, or makes requests wait
            say(f"{label} on {hardware}")
    for remark in (*loaded.remarks, *args.remarks, *loaded.warnings):
        say(remark)


def crowded(others: str, threads: int) -> str:
    """Warn if other programs use the machine."""
    waiting = " On a busy machine --threads 1 is often faster: threads wait for the slowest one." if threads > 1 else ""
    return f"{others} Measurements beside them are unsteady.{waiting}"

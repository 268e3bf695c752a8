"""Shared parts of the commands that record a pair on prompts: loading, and showing progress."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from decoding.disco.making import Step
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import Study
from worker.terminal.bench import Bench
from worker.terminal.loading import LoadedPair, load_pair


def loaded(bench: Bench) -> LoadedPair:
    ready = load_pair(bench)
    facts = ready.target.runner.facts
    threads = f"{facts.threads} thread" + ("s" if facts.threads > 1 else "")
    say(f"{ready.name} on {facts.device_name}, {threads}, {facts.runner} runner, {facts.dtype}")
    if ready.pair.draft_left_out:
        say(ready.pair.draft_left_out)
    return ready


@dataclass(frozen=True)
class Material:
    """Recorded prompts, and the costs of passes on this machine: a plan is made from both."""

    bench: Bench
    ready: LoadedPair
    study: Study
    costs: CostModel
    classifier: str | None  # name of the one that DISCO asks


class Steps:
    """One line per phase, redrawn in place on a terminal."""

    def __init__(self) -> None:
        self.redraws = sys.stderr.isatty()
        self.phase = ""

    def __call__(self, step: Step) -> None:
        line = f"{step.phase}: {step.done}/{step.due} {step.detail}".rstrip()
        if self.redraws:
            new_line = "\n" if self.phase not in ("", step.phase) else ""
            print(f"{new_line}\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif step.done == step.due:
            say(line)
        self.phase = step.phase

    def close(self) -> None:
        if self.redraws and self.phase:
            say("")


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)

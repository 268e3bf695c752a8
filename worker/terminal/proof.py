"""`./drafthouse plan --prove`: the plan's setting on llama-server, as a table with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding.choice import choose
from decoding.measure.summary import so_few
from decoding.words import change
from worker.engine.residents import Residents
from worker.jobs.proof import Prove
from worker.jobs.proof.proving import promise_of
from worker.terminal.bench import Bench
from worker.terminal.files import kept
from worker.terminal.progress import say
from worker.terminal.studying import carry_out


def proved(bench: Bench, plan: Mapping[str, Any], residents: Residents) -> Mapping[str, Any]:
    """Prove the plan's best setting that llama.cpp can be given, and print what came of it."""
    promise = promise_of((choose(row["strategy"], row["params"]), row["speedup"]) for row in plan["settings"])
    say(f"Proving {promise.choice.label} on llama-server: {promise.options}")
    order = Prove(bench.pair, bench.prompts, bench.sampling, promise.choice, promise.speedup, *kept("gguf"))
    found = carry_out(order, bench, residents=residents)
    print(as_text(found))
    return found


def as_text(found: Mapping[str, Any]) -> str:
    """Write the proof as text."""
    title = f"{found['setting']} in {found['engine']}: {found['options']}"
    head = f"{'engine':20} {'predicted':>9} {'measured':>9} {'off by':>8}   95 % interval"
    rows = [_line(name, found["promised"], found[key]["speedup"]) for key, name in ENGINES]
    noisy = [f"Noisy: {found['noise']}"] if found["noise"] else []
    return "\n".join(["", title, head, *rows, "", found["verdict"], *found["reasons"], *noisy])


ENGINES = (("theirs", "llama.cpp"), ("ours", "Drafthouse"))


def _line(name: str, promised: float, gain: Mapping[str, Any] | None) -> str:
    if gain is None:
        return f"{name:20} {promised:9.2f} {'–':>9}"
    few = gain["low"] is None
    interval = f"none of {so_few(gain['prompts'])}" if few else f"{gain['low']:.2f} to {gain['high']:.2f}"
    return f"{name:20} {promised:9.2f} {gain['ratio']:9.2f} {change(promised / gain['ratio'], 1):>8}   {interval}"

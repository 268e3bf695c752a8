"""Measure how long the what-if sliders of a finished comparison wait for an answer at new positions.

    ./drafthouse bench what_if [--prompts 100] [--places 40] [--seed 0] [--json FILE]

First the starter pair decodes its prompts with eight strategies, in a separate data folder, which takes minutes. Then
each strategy's sliders move to random positions, each requested once, as a page does: over HTTP, one after another. The
very first request reads the traces; a page sends it before the sliders are in sight, so its time is reported
separately. Processor time is the web process's, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks._serving import load, verdict
from tests.kit.up import Up, until

BAR_MS = 200.0
UNTIL_DECODED = 3600.0  # s
STRATEGIES = [
    {"strategy": "static", "params": {"lookahead": 2}},
    {"strategy": "static", "params": {"lookahead": 4}},
    {"strategy": "static", "params": {"lookahead": 8}},
    {"strategy": "heuristic"},
    {"strategy": "threshold"},
    {"strategy": "oracle"},
    {"strategy": "ssd", "params": {"lookahead": 4, "branches": 8}},
]
KNOBS: dict[str, dict[str, list[Any]]] = {  # positions of the page's sliders
    "static": {"lookahead": [*range(1, 21)]},
    "threshold": {"threshold": [step / 20 for step in range(1, 20)], "cap": [*range(1, 21)]},
    "heuristic": {"initial": [*range(1, 13)]},
    "ssd": {
        "lookahead": [*range(1, 13)],
        "branches": [*range(1, 33)],
        "fanout": ["geometric", "uniform", "measured"],
    },
}


def decoded(up: Up, token: str, prompts: int) -> str:
    """Return the id of a comparison, once it is done."""
    pair, dataset = (
        next(row["id"] for row in up.call(path, token)["results"] if row["name"] == name)
        for path, name in (("pairs/", "Starter"), ("datasets/", "Starter code"))
    )
    body = {"pair": pair, "dataset": dataset, "split": "test", "limit": prompts, "strategies": STRATEGIES}
    body["sampling"] = {"temperature": 0.6, "repetition_penalty": 1.1, "max_new_tokens": 128}
    made = up.call("comparisons/", token, body)["id"]
    over = ("succeeded", "failed", "cancelled")
    until(lambda: up.call(f"comparisons/{made}/", token)["job"]["state"] in over, "the comparison", UNTIL_DECODED)
    return str(made)


def places(strategy: str, count: int, dice: random.Random) -> list[dict[str, Any]]:
    """Random positions without a repeat."""
    found: list[dict[str, Any]] = [{}]
    for name, values in KNOBS[strategy].items():
        found = [{**place, name: value} for place in found for value in values]
    return dice.sample(found, min(count, len(found)))


class Asker:
    def __init__(self, up: Up, comparison: str) -> None:
        self.up, self.token, self.comparison = up, up.token(), comparison
        self.web: Any = up.pid_of("supervisor.web")

    def ms(self, **place: Any) -> tuple[float, float]:
        """Ms until the answer is there, and the processor ms within that."""
        start, before = time.perf_counter(), self._cpu_s()
        self.up.call(f"comparisons/{self.comparison}/what-if/?{urlencode(place)}", self.token)
        return (time.perf_counter() - start) * 1000, (self._cpu_s() - before) * 1000

    def _cpu_s(self) -> float:
        return time.clock_gettime(~self.web << 3 | 2)  # the process's clock id, as from clock_getcpuclockid


def measured(asker: Asker, count: int, dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"load": load(), "first_of_all": spread([asker.ms(strategy="static", lookahead=3)])}
    for strategy in KNOBS:
        found[strategy] = spread([asker.ms(strategy=strategy, **place) for place in places(strategy, count, dice)])
    return found


def spread(asked: list[tuple[float, float]]) -> dict[str, Any]:
    walls, cpus = (sorted(each) for each in zip(*asked, strict=True))
    return {
        "places": len(walls),
        "p50_ms": round(statistics.median(walls), 1),
        "p95_ms": round(walls[int(0.95 * len(walls))], 1),
        "worst_ms": round(walls[-1], 1),
        "cpu_p95_ms": round(cpus[int(0.95 * len(cpus))], 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench what_if", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--places", type=int, default=40, help="positions of each strategy's sliders")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        up = Up(Path(folder) / "data").wait()
        try:
            asker = Asker(up, decoded(up, up.token(), asked.prompts))
            found = measured(asker, asked.places, random.Random(asked.seed))
        finally:
            up.interrupt()
    print(json.dumps(found, indent=1))
    is_good = [verdict(f"ms of {name} at a new place, p95", found[name]["p95_ms"], BAR_MS) for name in KNOBS]
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(is_good) else 1


if __name__ == "__main__":
    sys.exit(main())

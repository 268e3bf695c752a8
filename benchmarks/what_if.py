"""Measure how long the what-if sliders of a finished comparison wait for an answer at new positions.

    ./drafthouse bench what_if [--prompts 100] [--places 40] [--seed 0]

First the starter pair decodes its prompts with eight strategies, in a separate data folder, which takes minutes. Then
each strategy's sliders move to random positions, each requested once, as a page does: over HTTP, one after another. The
very first request reads the traces; a page sends it before the sliders are in sight, so its time is reported
separately. Processor time is the web process's, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlencode

from benchmarks._serving import Web, load, place, serving, verdict
from tests.kit.processes import until
from tests.kit.up import Up

BAR_MS = 200.0
UNTIL_DECODED = 3600.0  # s
STRATEGIES = ["static:2", "static:4", "static:8", "heuristic", "threshold", "oracle", "ssd:4,branches=8"]
KNOBS: dict[str, dict[str, list[Any]]] = {  # positions of the page's sliders
    "static": {"lookahead": [*range(1, 21)]},
    "threshold": {"threshold": [step / 20 for step in range(1, 20)], "cap": [*range(1, 21)]},
    "heuristic": {"initial": [*range(1, 13)]},
    "ssd": {"lookahead": [*range(1, 13)], "branches": [*range(1, 33)], "fanout": ["geometric", "uniform", "measured"]},
}


def decoded(up: Up, token: str, prompts: int) -> str:
    """Return the path of a comparison's what-ifs, once it is done."""
    body = {"pair": "Starter", "dataset": "Starter code", "split": "test", "limit": prompts, "strategies": STRATEGIES}
    body["sampling"] = {"temperature": 0.6, "repetition_penalty": 1.1, "max_new_tokens": 128}
    made, over = up.call("comparisons/", token, body)["id"], ("succeeded", "failed", "cancelled")
    until(lambda: up.call(f"comparisons/{made}/", token)["job"]["state"] in over, "the comparison", UNTIL_DECODED)
    return f"comparisons/{made}/what-if/"


def places(strategy: str, count: int, dice: random.Random) -> list[dict[str, Any]]:
    """Random positions without a repeat."""
    found = [dict(zip(KNOBS[strategy], values, strict=True)) for values in itertools.product(*KNOBS[strategy].values())]
    return [{"strategy": strategy, **place} for place in dice.sample(found, min(count, len(found)))]


def answered(up: Up, token: str, path: str, positions: list[dict[str, Any]]) -> dict[str, float]:
    asked = []  # ms until the answer is there, and the processor ms of the web within that
    web = Web(up)
    for position in positions:
        start, before = time.perf_counter(), sum(web.cpu_s().values())
        up.call(f"{path}?{urlencode(position)}", token)
        asked.append(((time.perf_counter() - start) * 1000, (sum(web.cpu_s().values()) - before) * 1000))
    walls, cpus = (sorted(each) for each in zip(*asked, strict=True))
    late = int(0.95 * len(asked))
    told = {"p50_ms": statistics.median(walls), "p95_ms": walls[late], "worst_ms": walls[-1], "cpu_p95_ms": cpus[late]}
    return {"places": len(asked), **{name: round(value, 1) for name, value in told.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench what_if", description=__doc__)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--places", type=int, default=40, help="positions of each strategy's sliders")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dice, found = random.Random(asked.seed), dict[str, Any]()
    with place() as folder, serving(folder, workers=1) as up:
        token = up.token()
        path = decoded(up, token, asked.prompts)
        found["first_of_all"] = answered(up, token, path, [{"strategy": "static", "lookahead": 3}])
        for strategy in KNOBS:
            found[strategy] = answered(up, token, path, places(strategy, asked.places, dice))
    print(json.dumps(found | {"load": load()}, indent=1))
    is_good = [verdict(f"ms of {name} at a new place, p95", found[name]["p95_ms"], BAR_MS) for name in KNOBS]
    return 0 if all(is_good) else 1


if __name__ == "__main__":
    sys.exit(main())

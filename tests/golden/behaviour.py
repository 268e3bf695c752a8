"""Record what every strategy does, so that a change of the code's structure can be held against it.

`python -m tests.golden.behaviour` writes `behaviour.json`. It holds one digest per case: of tokens and events without
times, or, for a simulation, with its simulated times. `--show CASE` prints what a digest was made of; run it on the old
commit and on the new one, and compare.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from decoding.ending import Ending
from decoding.events import Event, to_dict
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import predict, study
from decoding.spec import Sampling, parse_choices
from decoding.ssd.settings import Settings
from decoding.ssd.simulation.playing import ANYTIME, BESIDE, IN_TURN
from decoding.ssd.simulation.recording import plan_for
from decoding.ssd.simulation.simulator import simulate
from tests.decoding.test_comparison import pair
from tests.decoding.test_planning import prompts
from tests.decoding.test_ssd_simulator import LIVE, tracked
from tests.decoding.worlds import World, some_classifier

FILE = Path(__file__).with_name("behaviour.json")
VOCAB, NEW = 14, 40
LABELS = (
    "autoregressive,static:1,static:4,static:7,heuristic:2,heuristic:5,threshold:0.4,threshold:0.2,cap=6,"
    "threshold:0.3,adaptive=true,oracle:5,disco,disco:threshold,cap=7,"
    "ssd:4,branches=12,backup=neural,placement=in-turn,ssd:3,branches=9,backup=ngram,fanout=uniform,placement=in-turn,"
    "ssd:3,branches=8,backup=random,fanout=measured,placement=in-turn,"
    "ssd:4,branches=10,backup=neural,constant=0.5,placement=in-turn,ssd-disco:5,branches=6,placement=in-turn"
)
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=0.9, dice="shared", max_new_tokens=NEW, repetition_penalty=1.2),
    "ratio": Sampling(temperature=0.9, dice="ratio", max_new_tokens=NEW, top_k=9, top_p=0.95),
}
FIXED = ("greedy", "shared")
ENDS: dict[str, frozenset[int]] = {"no end": frozenset(), "ends": frozenset({5, 9})}
COSTS = CostModel.of_one((0.0, 10.0, 10.5, 11.0, 12.0), 2.0, 0.5, 0.3, 0.2, decision=0.1, reading=0.05, token=0.01)
BRANCHES = [(1, 2.0), (2, 2.1), (3, 2.3), (4, 2.6)]
PRICES = dataclasses.replace(COSTS, branches=BRANCHES, opening=2.2, opening_read=0.4, transport=0.05, taking=0.01)
PLACEMENTS = (IN_TURN, BESIDE, ANYTIME)

Case = Callable[[], Any]


# fields that events have gained since the recording
ADDED = {"arrived_ns", "queued_ns", "rows", "ranks", "texts", "prompt_rows", "held_ns", "prompts_ns"}


def with_times(events: Sequence[Event]) -> list[dict[str, Any]]:
    rows = (to_dict(event, seq) for seq, event in enumerate(events, 1))
    return [{name: value for name, value in row.items() if name not in ADDED} for row in rows]


def without_times(events: Sequence[Event]) -> list[dict[str, Any]]:
    rows = (to_dict(event, seq) for seq, event in enumerate(events, 1))
    return [
        {name: value for name, value in row.items() if not name.endswith("_ns") and name not in ADDED} for row in rows
    ]


def live(label: str, sampling: Sampling, ends: frozenset[int]) -> list[Any]:
    [choice], found = parse_choices(label), []
    for seed in range(2):
        world = World.of_tables(VOCAB, seed, noise=0.7)
        world.end_tokens = ends
        decoded, recorder = world.run(choice, [3, 1, 2], sampling, seed, Ending(ends))
        found.append([decoded.tokens, decoded.reason, without_times(recorder.events)])
    return found


def simulated(settings: Settings, sampling: Sampling, ends: frozenset[int], has_classifier: bool) -> list[Any]:
    found = []
    classifier = some_classifier() if has_classifier else None
    for seed in range(2):
        world = World.of_tables(VOCAB, seed, noise=0.9)
        world.end_tokens = ends
        track = tracked(world, sampling, seed, classifier)
        for placement in PLACEMENTS:
            played = simulate([track], plan_for(settings, VOCAB, classifier), PRICES, placement)
            found += [with_times(trace) for trace in played.traces]
    return found


def planned(sampling: Sampling) -> list[Any]:
    recorded = study(pair(), prompts(12), sampling, tails=True)
    rows = [row for row in predict(recorded, COSTS, some_classifier()) if row.choice.spec.policy]
    found = [dataclasses.asdict(row) for row in sorted(rows, key=lambda row: row.choice.label)]
    for row in found:
        del row["choice"]["load"]  # one user; choices have gained it since the recording
    return found


def cases() -> Iterator[tuple[str, Case]]:
    for choice, (name, sampling), (end, ends) in itertools.product(
        parse_choices(LABELS), SAMPLINGS.items(), ENDS.items()
    ):
        yield f"live {choice.label} {name} {end}", partial(live, choice.label, sampling, ends)
    for label, name, (end, ends) in itertools.product(LIVE, FIXED, ENDS.items()):
        yield f"simulated ssd {label} {name} {end}", partial(simulated, LIVE[label], SAMPLINGS[name], ends, False)
    for name, (end, ends) in itertools.product(FIXED, ENDS.items()):
        settings = Settings(5, 6, backup="neural")
        yield f"simulated ssd-disco {name} {end}", partial(simulated, settings, SAMPLINGS[name], ends, True)
    for name in FIXED:
        yield f"planned {name}", partial(planned, SAMPLINGS[name])


def rounded(found: Any) -> Any:
    """The same with numbers that another processor's arithmetic gives too."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [rounded(value) for value in found]
    return float(f"{found:.6g}") if isinstance(found, float) else found


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(rounded(found), sort_keys=True).encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", metavar="CASE", help="print one case instead of writing all")
    asked = parser.parse_args()
    if asked.show:
        json.dump(rounded(dict(cases())[asked.show]()), sys.stdout, indent=1, sort_keys=True)
    else:
        FILE.write_text(json.dumps({name: digest(case()) for name, case in cases()}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Record what every strategy does, so that a change of the code's structure can be held against it.

| what | how |
|---|---|
| compare with the record | `./drafthouse test tests/golden` |
| see what a case does | `python -m tests.golden.behaviour --show CASE`, before and after a change |
| write the record anew | `python -m tests.golden.behaviour`, and `--only WORDS` for the cases with these words |

`behaviour.json` has one line per case, and in it each kind of thing that the case did: a digest, or a number. `tokens`
are the texts. `drafts` are the drafted tokens and accepted counts of each round. `events` are all fields that events had
when they were recorded (`live.FIELDS`). `passes` are the texts that target and draft were asked to continue, in order.
A new structure keeps tokens and drafts as they are. A simulation's `trace` has its simulated times.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from decoding.events import Event, to_dict
from decoding.prices.cost_model import CostModel
from decoding.replay.planning import predict, study
from decoding.spec import Sampling
from decoding.ssd.settings import Settings
from decoding.ssd.simulation.playing import ANYTIME, BESIDE, IN_TURN
from decoding.ssd.simulation.recording import plan_for
from decoding.ssd.simulation.simulator import simulate
from tests.decoding.test_comparison import pair
from tests.decoding.test_planning import prompts
from tests.decoding.test_ssd_simulator import LIVE, tracked
from tests.decoding.worlds import World, some_classifier
from tests.golden import live

FILE = Path(__file__).with_name("behaviour.json")
VOCAB, NEW = 14, 40
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=0.9, dice="shared", max_new_tokens=NEW, repetition_penalty=1.2),
}
ENDS: dict[str, frozenset[int]] = {"no end": frozenset(), "ends": frozenset({5, 9})}
COSTS = CostModel.of_one((0.0, 10.0, 10.5, 11.0, 12.0), 2.0, 0.5, 0.3, 0.2, decision=0.1, reading=0.05, token=0.01)
BRANCHES = [(1, 2.0), (2, 2.1), (3, 2.3), (4, 2.6)]
PRICES = dataclasses.replace(COSTS, branches=BRANCHES, opening=2.2, opening_read=0.4, transport=0.05, taking=0.01)
PLACEMENTS = (IN_TURN, BESIDE, ANYTIME)
CLOSE = 1e-5  # how near numbers must be: processors round differently

Case = Callable[[], Mapping[str, Any]]  # what was done, kind by kind
Kinds = Mapping[str, str | float]  # digests and numbers


# fields that events have gained since the simulations were recorded
ADDED = {"arrived_ns", "queued_ns", "rows", "ranks", "texts", "prompt_rows", "held_ns", "prompts_ns"}


def with_times(events: Sequence[Event]) -> list[dict[str, Any]]:
    rows = (to_dict(event, seq) for seq, event in enumerate(events, 1))
    return [{name: value for name, value in row.items() if name not in ADDED} for row in rows]


def simulated(settings: Settings, sampling: Sampling, ends: frozenset[int], has_classifier: bool) -> dict[str, Any]:
    found = []
    classifier = some_classifier() if has_classifier else None
    for seed in range(2):
        world = World.of_tables(VOCAB, seed, noise=0.9)
        world.end_tokens = ends
        track = tracked(world, sampling, seed, classifier)
        for placement in PLACEMENTS:
            played = simulate([track], plan_for(settings, VOCAB, classifier), PRICES, placement)
            found += [with_times(trace) for trace in played.traces]
    return {"trace": found}


def planned(sampling: Sampling) -> dict[str, Any]:
    recorded = study(pair(), prompts(12), sampling, tails=True)
    rows = [row for row in predict(recorded, COSTS, some_classifier()) if row.choice.spec.policy]
    found = [dataclasses.asdict(row) for row in sorted(rows, key=lambda row: row.choice.label)]
    return {"predictions": found}


def cases() -> Iterator[tuple[str, Case]]:
    yield from live.cases()
    for label, name, (end, ends) in itertools.product(LIVE, SAMPLINGS, ENDS.items()):
        yield f"simulated ssd {label}, {name}, {end}", partial(simulated, LIVE[label], SAMPLINGS[name], ends, False)
    for name, (end, ends) in itertools.product(SAMPLINGS, ENDS.items()):
        settings = Settings(5, 6, backup="neural")
        yield f"simulated ssd-disco, {name}, {end}", partial(simulated, settings, SAMPLINGS[name], ends, True)
    for name in SAMPLINGS:
        yield f"planned, {name}", partial(planned, SAMPLINGS[name])


def rounded(found: Any) -> Any:
    """The same with numbers that another processor's arithmetic gives too."""
    if isinstance(found, Mapping):
        return {name: rounded(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [rounded(value) for value in found]
    return float(f"{found:.6g}") if isinstance(found, float) else found


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(rounded(found), sort_keys=True).encode()).hexdigest()[:10]


def kinds(found: Mapping[str, Any]) -> Kinds:
    """Keep the numbers of a case, and a digest of anything else."""
    return {kind: rounded(thing) if isinstance(thing, float) else digest(thing) for kind, thing in found.items()}


def difference(name: str, found: Kinds, recorded: Kinds) -> str:
    """Say in one line what a case did otherwise than recorded; empty if nothing."""
    other = [kind for kind in found | recorded if not _alike(found.get(kind), recorded.get(kind))]
    if not other:
        return ""
    later = f"; {', '.join(other[1:])} differ too" if other[1:] else ""
    return f"{name}: {other[0]} first{later}"


def _alike(one: str | float | None, other: str | float | None) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return one == other


def write(only: str) -> None:
    known: dict[str, Kinds] = json.loads(FILE.read_text()) if only else {}
    found = {name: kinds(case()) if only in name else known[name] for name, case in cases()}
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name])}" for name in found) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="CASE", help="print one case instead of writing all")
    parser.add_argument("--only", metavar="WORDS", default="", help="write the cases with these words in their name")
    asked = parser.parse_args()
    if asked.show:
        json.dump(rounded(dict(cases())[asked.show]()), sys.stdout, indent=1, sort_keys=True)
    else:
        write(asked.only)


if __name__ == "__main__":
    main()

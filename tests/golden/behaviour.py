"""Record what every strategy does, so that a change of the code's structure can be held against it.

| what | how |
|---|---|
| compare with the record | `./drafthouse test tests/golden` |
| see what a case does | `python -m tests.golden.behaviour --show CASE`, before and after a change |
| write the record anew | `python -m tests.golden.behaviour`, and `--only WORDS` for the cases with these words |

`behaviour.json` has one line per case, and in it each kind of thing that the case did: a digest, or a number. `tokens`
are the texts. `drafts` are the drafted tokens and accepted counts of each round. `events` are all fields that events
had when they were recorded (`live.FIELDS`). `passes` are the texts that target and draft were asked to continue, in
order. A new structure keeps tokens and drafts as they are. A simulation's `rounds` have its times too.

`documents/` holds the answers of replay, plan, what-if, projection and figures, one row a line, so that a difference
can be read. `rest.json` holds REST answers; `tests/doors/comparisons/test_what_if.py` says how to write them anew.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.replay.ssd.simulator import simulate
from decoding.ssd.speculator.speculator import plan_for
from tests.golden import documents, live, starter
from tests.golden.documents import PLACEMENTS, PRICES, SAMPLINGS
from tests.kit.recordings import LIVE, tracked
from tests.kit.worlds import World, some_classifier

FILE, FOLDER = Path(__file__).with_name("behaviour.json"), Path(__file__).with_name("documents")
VOCAB = 14
ENDS: dict[str, frozenset[int]] = {"no end": frozenset(), "ends": frozenset({5, 9})}
CLOSE = 1e-5  # how near numbers must be: processors round differently

Case = Callable[[], Mapping[str, Any]]  # what was done, kind by kind, or a document's rows
Kept = Mapping[str, Any]  # digests and numbers by kind, or a document's rows


def simulated(
    settings: SpeculatorSettings, sampling: Sampling, ends: frozenset[int], has_classifier: bool
) -> dict[str, Any]:
    found = []
    classifier = some_classifier() if has_classifier else None
    for seed in range(2):
        world = World.of_tables(VOCAB, seed, noise=0.9)
        world.end_tokens = ends
        track = tracked(world, sampling, seed, classifier)
        for is_beside in PLACEMENTS.values():
            played = simulate([track], plan_for(settings, VOCAB, classifier), PRICES, is_beside)
            found += [[request.first, request.end, *map(list, request.rounds)] for request in played.requests]
    return {"rounds": found}


def cases() -> Iterator[tuple[str, Case]]:
    yield from live.cases()
    yield from starter.cases()
    for label, name, (end, ends) in itertools.product(LIVE, SAMPLINGS, ENDS.items()):
        yield f"simulated ssd {label}, {name}, {end}", partial(simulated, LIVE[label], SAMPLINGS[name], ends, False)
    for name, (end, ends) in itertools.product(SAMPLINGS, ENDS.items()):
        settings = SpeculatorSettings(5, 6, backup="neural")
        yield f"simulated ssd-disco, {name}, {end}", partial(simulated, settings, SAMPLINGS[name], ends, True)


def rounded(found: Any, digits: int = 6) -> Any:
    """The same as JSON reads it back, with numbers that another processor's arithmetic gives too."""
    if isinstance(found, Mapping):
        return {str(name): rounded(value, digits) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [rounded(value, digits) for value in found]
    return float(f"{found:.{digits}g}") if isinstance(found, float) else found


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(rounded(found), sort_keys=True).encode()).hexdigest()[:10]


def kinds(found: Mapping[str, Any]) -> Kept:
    """Keep the numbers of a case, and a digest of anything else."""
    return {kind: rounded(thing) if isinstance(thing, float) else digest(thing) for kind, thing in found.items()}


def document(found: Mapping[str, Any]) -> Kept:
    """Keep the rows of a document, in order of their names."""
    return {name: rounded(found[name], 9) for name in sorted(found)}


def difference(name: str, found: Kept, recorded: Kept) -> str:
    """Say in one line what a case did otherwise than recorded; empty if nothing."""
    other = [kind for kind in recorded | found if not _alike(found.get(kind), recorded.get(kind))]
    if not other:
        return ""
    first, now, then = other[0], found.get(other[0], "nothing"), recorded.get(other[0], "nothing")
    words = f"{name}: {first} differs first: {str(now)[:200]} instead of {str(then)[:200]}"
    return words + (f"; so do {', '.join(other[1:8])}" if other[1:] else "") + (" and more" if other[8:] else "")


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-9)
    return bool(one == other)


def path_of(name: str) -> Path:
    """Return where a document is kept."""
    return FOLDER / f"{name.replace(', ', '-').replace(' ', '-')}.json"


def write(only: str) -> None:
    known: dict[str, Kept] = json.loads(FILE.read_text()) if only else {}
    _save(FILE, {name: kinds(case()) if only in name else known[name] for name, case in cases()})
    FOLDER.mkdir(exist_ok=True)
    for name, case in documents.cases():
        if only in name:
            _save(path_of(name), document(case()))


def _save(path: Path, rows: Mapping[str, Any]) -> None:
    """Write one row a line."""
    lines = (f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in rows.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", metavar="CASE", help="print one case instead of writing all")
    parser.add_argument("--only", metavar="WORDS", default="", help="write the cases with these words in their name")
    asked = parser.parse_args()
    if asked.show:
        case = dict([*cases(), *documents.cases()])[asked.show]
        json.dump(rounded(case()), sys.stdout, indent=1, sort_keys=True)
    else:
        write(asked.only)


if __name__ == "__main__":
    main()

"""Measure what passes cost on this machine, and write a machine card: ./drafthouse bench prices --json ours.json

The card is what `./drafthouse project --card ours.json` reads, here or elsewhere. Draft steps of several rows, and the
way to a draft beside the target, are measured on short runs of `ssd`; passes of several texts in the loop itself.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from worker import noise
from worker.terminal.bench import Bench, parser_of, read_bench
from worker.terminal.files import whole_file
from worker.terminal.options import count_of, list_of
from worker.terminal.progress import described, say


def main(argv: Sequence[str]) -> int:
    parser = parser_of("bench prices", "Measure a pair's passes on this machine and write a machine card.")
    parser.add_argument("--name", default="", metavar="NAME", help="of the card; the pair and the machine unless given")
    parser.add_argument(
        "--batches", type=list_of(count_of), default=[1], metavar="LIST", help="texts at once, such as 1,4"
    )
    parser.add_argument("--json", type=Path, default=Path("card.json"), metavar="FILE", help="%(default)s unless given")
    given = parser.parse_args(argv)
    bench = read_bench(given, drafting="A machine card")
    with whole_file(given.json) as file:
        card = measured(bench, given.name, sorted(set(given.batches)))
        json.dump(card, file, indent=1)
    print(f"The card is in {given.json}. ./drafthouse project --card {given.json} projects a pair onto it.")
    return 0


def measured(bench: Bench, name: str, batches: Sequence[int]) -> Mapping[str, object]:
    from benchmarks._measured_card import card_of
    from benchmarks._ready_pair import ready_pair

    pair, loaded = ready_pair(bench)
    facts = pair.target.facts
    machine = f"{facts.device_name}, {facts.threads} thread(s), {facts.runner} runner, {facts.dtype}"
    for line in described(bench.material.name, loaded):
        say(line)
    before = noise.mark(os.getpid())
    with closing(pair):
        name = name or f"{bench.material.name} here"
        card = card_of(pair, bench.prompts, bench.sampling, batches, name, machine)
    if noisy := noise.between(before, noise.mark(os.getpid())):
        say(f"Noisy: {noisy} Measure again on a quiet machine before you rely on this card.")
        card = replace(card, source=f"{card.source} Noisy: {noisy}")
    return card.to_dict()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

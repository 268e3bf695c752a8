"""`./drafthouse project`: what every strategy would give on another machine, for the texts of this pair."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from decoding.choice import Choice, remarks_on
from decoding.prices.machine_card import card_called, published
from worker.jobs.projection import Project
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import whole_file
from worker.terminal.guarded import command
from worker.terminal.studying import carry_out


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "project",
        "Record a pair on prompts once, and simulate its strategies at the prices of another machine. It says which "
        "strategies it leaves out, and why.",
        epilog="\n".join(["cards in the box:", *(f"  {name:22} {card.name}" for name, card in published().items())]),
    )
    parser.add_argument(
        "--card",
        required=True,
        metavar="NAME",
        help="a machine card in the box, or FILE.json, as bench prices writes it",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table and the map")
    args = parser.parse_args(argv)
    card = card_called(args.card)
    bench = read_recorded(args)
    with whole_file(args.json) if args.json else nullcontext() as file:
        found = carry_out(Project(bench.pair, bench.prompts, bench.sampling, card), bench)
        if file:
            json.dump(found, file, indent=1)
    print(as_text(found))


def as_text(found: Mapping[str, Any]) -> str:
    """Write the tables as text."""
    card = found["card"]
    lines = [f"{card['name']} ({card['grade']}). Simulated, not measured.", card["source"], ""]
    for batch in dict.fromkeys(row["batch"] for row in found["settings"]):
        lines.append(f"{f'{batch} at once':32} {'tokens/s each':>13} {'per device':>10} {'speed-up':>8}")
        lines += [_row(row) for row in found["settings"] if row["batch"] == batch]
        lines.append("")
    lines += remarks_on(map(Choice.of, found["settings"]))
    lines += [f"Left out: {slug} ({why})." for slug, why in found["left_out"].items()]
    lines += [found["misfit"]] if found["misfit"] else []
    return "\n".join(lines)


def _row(row: Mapping[str, Any]) -> str:
    speeds = f"{row['tokens_per_s']:13.1f} {row['tokens_per_s_device']:10.1f} {row['speedup']:8.2f}"
    return f"  {row['label']:30} {speeds}"


if __name__ == "__main__":
    command(run)

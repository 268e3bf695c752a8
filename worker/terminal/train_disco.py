"""`./drafthouse train-disco`: from prompts to a stored classifier and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from decoding.disco.cards import DESIGNS, OURS, SOURCES, sharing_sentence
from decoding.words import percent
from worker.jobs.training import Train
from worker.terminal.bench import Bench, parser_of, read_recorded
from worker.terminal.files import require_folder
from worker.terminal.guarded import command
from worker.terminal.options import BadArguments
from worker.terminal.studying import carry_out


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "train-disco",
        "Train the classifier that tells DISCO when to stop drafting. The split column of the prompts says what each "
        "is for: train, validation or test. Prompts without a split are divided among the three.",
        takes_split=False,
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where it is stored, beside the target unless given")
    parser.add_argument("--design", choices=tuple(DESIGNS), default=OURS, help=_designs())
    args = parser.parse_args(argv)
    drafting = "" if args.design == SOURCES else f"Training a classifier of the design {args.design}"
    bench = read_recorded(args, drafting=drafting)
    out = args.out or _beside(bench)
    require_folder(out)

    order = Train(bench.pair, bench.prompts, bench.sampling, out, args.design)
    carry_out(order, bench)
    print(card_as_text(json.loads((out / "card.json").read_text(encoding="utf-8"))))
    print(f"\nStored in {out}.")


def _beside(bench: Bench) -> Path:
    """Return the folder beside the target. On a target alone, refuse to replace what may be a pair's classifier."""
    own = bench.material.own_classifier
    if own.is_dir() and (bench.pair.draft is None or bench.material.report.draft_left_out(bench.pair.other_tokenizer)):
        raise BadArguments(
            f"{own} holds a classifier, perhaps of a draft for this target. Give --out DIR; --out {own} replaces it."
        )
    return own


def _designs() -> str:
    return f"{'. '.join(f'{name}: {words}' for name, words in DESIGNS.items())}. %(default)s by default"


def card_as_text(card: Mapping[str, Any]) -> str:
    found, costs = card["metrics"], card["costs"]
    lines = [
        f"{card['labelled']['training']:,} labelled tokens of {card['prompts']['training']} prompts; "
        f"tested on {found['count']:,} tokens of {card['prompts']['test']} others, "
        f"{percent(found['positives'])} accepted.",
        "",
        f"{'features':20} {'AUC':>6} {'F1':>6} {'BCE':>6}",
        f"{'what it looks at':20} {found['auc']:6.3f} {found['f1']:6.3f} {found['bce']:6.3f}   "
        f"calibration error {found['calibration_error']:.3f}",
        "",
        "predicted speed-up over autoregressive, test prompts, at settings tuned on others"
        " (best: chosen on the test prompts themselves)",
        *(f"  {name:18} {speedup:5.2f}" for name, speedup in card["predicted"].items()),
        *filter(None, [sharing_sentence(card)]),
        "",
        _costs(costs),
    ]
    return "\n".join(lines)


def _costs(costs: Mapping[str, Any]) -> str:
    verification = f"one verification {costs['target'][1] * 1e6:.0f} µs"
    if not costs["draft"]:
        return f"{verification}; a copied token takes no pass of its own"
    decision, token = costs["decision"] * 1e6, costs["draft"] * 1e6
    return f"one decision costs {decision:.1f} µs, one drafted token {token:.0f} µs, {verification}"


if __name__ == "__main__":
    command(run)

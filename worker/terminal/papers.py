"""`./drafthouse papers`: the figures of the DISCO and SSD papers, beside those of this pair."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from decoding.models.files import contents
from decoding.papers.figure import Figure
from decoding.papers.figures import FIGURES
from decoding.papers.files import FILES
from decoding.papers.shelf import Shelf
from worker.jobs.papers import DrawFigures, FigureDrawn
from worker.messages import Reply
from worker.terminal.bench import Bench, parser_of, read_recorded
from worker.terminal.files import BadOutput, require_folder, whole_file
from worker.terminal.guarded import command
from worker.terminal.studying import carry_out

USUAL_PROMPTS = 16
KEPT = "evidence"  # folder of what a rerun need not make again


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "papers",
        "Draw the published figures of DISCO and SSD beside the same figures for your pair. Every finished figure is "
        "stored at once, so a run that is stopped goes on where it ended.",
        epilog="\n".join(
            ["figures:", *(f"  {f.slug:18} {f.paper.arxiv}, {f.number}: {f.title}" for f in FIGURES.values())]
        ),
    )
    parser.add_argument("--figures", type=_figures, default=[*FIGURES.values()], metavar="LIST", help="all by default")
    parser.add_argument("--out", type=Path, default=Path("papers"), metavar="DIR", help="where the figures go")
    parser.set_defaults(limit=USUAL_PROMPTS)
    args = parser.parse_args(argv)
    bench = read_recorded(args, drafting="The study of the papers")
    require_folder(args.out)
    shelf = FolderShelf(args.out / KEPT, _recipe(bench))

    order = DrawFigures(bench.pair, bench.prompts, bench.sampling, shelf, [figure.slug for figure in args.figures])
    found = carry_out(order, bench, on_reply=partial(_on_reply, args.out))
    facts = {**found, **_facts(bench)}
    _write(args.out, "papers.json", json.dumps(facts, indent=1))
    print(f"\nData, and scripts that draw the figures with matplotlib, are in {args.out}.")
    if found["noise"]:
        print(f"Noisy: {found['noise']} Measured points need a quiet machine.")


def _on_reply(out: Path, reply: Reply) -> None:
    """Print a figure, and write its files if it could be drawn."""
    if isinstance(reply, FigureDrawn):
        figure = reply.figure
        print(described(figure))
        for ending, make in FILES.items() if not figure["needs"] else ():
            _write(out, f"{figure['slug']}.{ending}", make(figure))


def _figures(text: str) -> list[Figure]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in FIGURES]:
        raise argparse.ArgumentTypeError(f"there is no figure {unknown[0][:40]!r}; there are {', '.join(FIGURES)}")
    return [figure for slug, figure in FIGURES.items() if slug in names]


class FolderShelf(Shelf):
    """Shelf of JSON files. It belongs to one recipe: numbers of another must not get into the same figure."""

    def __init__(self, path: Path, recipe: Mapping[str, str]) -> None:
        self.path, self.recipe = path, recipe
        own = path / "recipe"
        if own.exists() and own.read_text() != json.dumps(recipe):
            raise BadOutput(
                f"{path} holds evidence of another pair, classifier, sampling or device, or of other prompts. Give "
                "another folder with --out DIR, or remove that one."
            )

    def read(self, name: str) -> Any:
        file = self._file(name)
        return json.loads(file.read_text()) if file.exists() else None

    def write(self, name: str, data: Any) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        for path, text in ((self.path / "recipe", json.dumps(self.recipe)), (self._file(name), json.dumps(data))):
            with whole_file(path) as file:
                file.write(text)

    def _file(self, name: str) -> Path:
        return self.path / f"{name.replace(' ', '-').replace(chr(39), '')}.json"


def _recipe(bench: Bench) -> dict[str, str]:
    """Hash each part of what decides the numbers, apart from the machine."""
    pair, classifier = bench.pair, bench.material.classifier_at("")
    parts = {
        "pair": [*map(contents, filter(Path.is_dir, pair.folders)), pair.other_tokenizer],
        "classifier": contents(classifier) if classifier else "",
        "prompts": [[prompt.id, prompt.content] for prompt in bench.prompts],
        "sampling": bench.sampling.to_dict(),
        "run": [pair.device, pair.dtype, pair.runner, bench.threads],
    }
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def described(figure: Mapping[str, Any]) -> str:
    """One figure in a terminal: why it differs from the published one, or what it lacks."""
    needs = f"not drawn; it needs {figure['needs']}."
    return f"{figure['slug']}: {figure['number']}, {figure['title']}\n  {needs if figure['needs'] else figure['why']}"


def _facts(bench: Bench) -> dict[str, Any]:
    prompts = {"set": bench.material.prompts.name, "split": bench.material.split, "count": len(bench.prompts)}
    own = bench.material.classifier_at("")
    classifier = {"name": f"{own.parent.name}/{own.name}"} if own else None
    made_of = {"pair": bench.material.name, "prompts": prompts, "sampling": bench.sampling.to_dict()}
    return {**made_of, "classifier": classifier}


def _write(out: Path, name: str, content: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(out / name) as file:
        file.write(content)


if __name__ == "__main__":
    command(run)

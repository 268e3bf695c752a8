"""`./drafthouse papers`: the figures of the DISCO and SSD papers, beside those of this pair."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decoding.models.contents import contents
from decoding.papers import FIGURES
from decoding.prompts.prompt import Prompt, first_turns
from decoding.reproduce.figure import Asked, Figure
from decoding.reproduce.files import FILES
from decoding.reproduce.methods import methods
from worker import noise
from worker.terminal.bench import Bench, parser_of, read_recorded
from worker.terminal.files import BadOutput, require_folder, whole_file
from worker.terminal.guarded import guarded
from worker.terminal.prompt_files import read_prompt_file

if TYPE_CHECKING:
    from worker.terminal.loading import LoadedPair

USUAL_PROMPTS = 16
KEPT = "evidence"  # folder of what a rerun need not make again
PARTS = {  # of a recipe: what the evidence belongs to if one differs
    "pair": "another pair",
    "classifier": "another classifier",
    "prompts": "other prompts",
    "sampling": "another sampling",
    "run": "another device, number format, runner or number of threads",
}


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "papers",
        "Draw the published figures of DISCO and SSD beside the same figures for your pair. Every finished figure is "
        "stored at once, so a run that is stopped goes on where it ended.",
        epilog="\n".join(
            ["figures:", *(f"  {f.slug:18} {f.paper.arxiv}, {f.number}: {f.title}" for f in FIGURES.values())]
        ),
    )
    parser.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    parser.add_argument("--figures", type=_figures, default=[*FIGURES.values()], metavar="LIST", help="all by default")
    parser.add_argument(
        "--also", type=Path, metavar="FILE", help="further prompts: disco-transfer moves a classifier between both sets"
    )
    parser.add_argument("--out", type=Path, default=Path("papers"), metavar="DIR", help="where the figures go")
    parser.set_defaults(limit=USUAL_PROMPTS)
    args = parser.parse_args(argv)
    bench = read_recorded(args, args.split, drafting="The study of the papers")
    require_folder(args.out)
    also = _further(args, bench.material.split) if args.also else []
    shelf = FolderShelf(args.out / KEPT, _recipe(bench, also))

    from worker.terminal.studying import loaded

    ready = loaded(bench)
    found, noisy = _draw(bench, ready, shelf, args, _asked(argv, args, len(bench.prompts)), also)
    facts = _facts(bench, ready) | {"noise": noisy}
    if also:
        facts["prompts"]["also"] = {"set": args.also.name, "count": len(also)}
    text = methods(facts, found)
    _write(args.out, "papers.json", json.dumps({**facts, "methods": text, "figures": found}, indent=1))
    _write(args.out, "methods.txt", text + "\n")
    print(f"\n{text}\n\nFigures, data and scripts are in {args.out}.")
    if noisy:
        print(f"Noisy: {noisy} Measured points need a quiet machine.")


def _further(args: argparse.Namespace, split: str | None) -> list[Prompt]:
    """Read further prompts: as many, and of the same split if their file has it."""
    every = first_turns(read_prompt_file(args.also, args.split, None))
    return ([prompt for prompt in every if prompt.split == split] or every)[: args.limit]


def _figures(text: str) -> list[Figure]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in FIGURES]:
        raise argparse.ArgumentTypeError(f"there is no figure {unknown[0][:40]!r}; there are {', '.join(FIGURES)}")
    return [figure for slug, figure in FIGURES.items() if slug in names]


class FolderShelf:
    """Shelf of JSON files. It belongs to one recipe: numbers of another must not get into the same figure."""

    def __init__(self, path: Path, recipe: Mapping[str, str]) -> None:
        self.path, self.recipe = path, recipe
        own = path / "recipe"
        known = _read(own) if own.exists() else recipe
        others = [words for name, words in PARTS.items() if known.get(name) != recipe[name]]
        if others:
            raise BadOutput(
                f"{path} holds evidence of {', of '.join(others)}. Give another folder with --out DIR, or remove that "
                "one."
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


def _recipe(bench: Bench, also: Sequence[Prompt]) -> dict[str, str]:
    """Hash each part of what decides the numbers, apart from the machine."""
    further = [["", ""], *([prompt.id, prompt.content] for prompt in also)] if also else []
    material, classifier = bench.material, bench.material.classifier_at("")
    files = [path.read_bytes().hex() for path in (bench.template,) if path and path.is_file()]
    parts = {
        "pair": [*map(contents, filter(Path.is_dir, material.folders)), *files, bench.other_tokenizer],
        "classifier": contents(classifier) if classifier else "",
        "prompts": [*([prompt.id, prompt.content] for prompt in bench.prompts), *further],
        "sampling": bench.sampling.to_dict(),
        "run": [bench.device, bench.dtype, bench.runner, bench.threads],
    }
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def _read(recipe: Path) -> Mapping[str, str]:
    """Read a recipe. One of an earlier version has no parts."""
    try:
        found = json.loads(recipe.read_text())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _draw(
    bench: Bench, ready: LoadedPair, shelf: FolderShelf, args: argparse.Namespace, asked: Asked, also: Sequence[Prompt]
) -> tuple[list[Mapping[str, Any]], str]:
    """Return the figures, and what else used the machine meanwhile."""
    from decoding.reproduce import drawing
    from decoding.reproduce.evidence import Evidence
    from decoding.reproduce.recordings import PromptSet

    evidence = Evidence(ready.pair, bench.prompts, bench.sampling, shelf)
    if also:
        evidence.own_set, evidence.also = bench.material.prompts.name, PromptSet(args.also.name, also)
    evidence.on_progress = progress = PapersProgress(drawing.phases_due(evidence, args.figures))
    found, before = [], noise.mark(os.getpid())
    for figure in drawing.draw(evidence, args.figures, asked, lambda: noise.between(before, noise.mark(os.getpid()))):
        progress.clear()
        print(described(figure))
        found.append(figure)
        for ending, make in FILES.items() if not figure["needs"] else ():
            _write(args.out, f"{figure['slug']}.{ending}", make(figure))
    ready.pair.close()
    return sorted(found, key=lambda figure: [*FIGURES].index(figure["slug"])), drawing.noises(shelf)


def described(figure: Mapping[str, Any]) -> str:
    """One figure in a terminal: our points, and why they differ."""
    head = f"{figure['slug']}: {figure['number']}, {figure['title']}"
    if figure["needs"]:
        return f"{head}\n  not drawn; it needs {figure['needs']}."
    names = figure["x"]["names"]
    lines = [
        f"  {each['name']} ({each['origin']}): "
        + ", ".join(f"{names[int(p['x'])] if names else format(p['x'], 'g')} {_value(p)}" for p in each["points"])
        for each in figure["series"]
    ]
    return "\n".join([head, *lines, f"  {figure['why']}"])


def _value(point: Mapping[str, Any]) -> str:
    interval = "" if point["low"] is None else f" ({point['low']:.3g} to {point['high']:.3g})"
    return f"{point['y']:.3g}{interval}"


class PapersProgress:
    """One line, redrawn in place on a terminal: phase, share of all samples, and the time left."""

    def __init__(self, phases: Mapping[str, int]) -> None:
        """`phases` are those that are not finished, each with its samples."""
        self.phases, self.done = phases, dict[str, float]()
        self.began, self.redraws, self.phase = time.monotonic(), sys.stderr.isatty(), ""

    def __call__(self, phase: str, done: int, due: int) -> None:
        self.done[phase] = self.phases.get(phase, 0) * done / max(1, due)
        line = f"{phase}: {done}/{due}, {self.left()}"
        if self.redraws:
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif phase != self.phase or done == due:
            print(line, file=sys.stderr, flush=True)
        self.phase = phase

    def left(self) -> str:
        """Time left, if the rest takes as long for each sample as what is done."""
        whole, done = sum(self.phases.values()), sum(self.done.values())
        if not done:
            return "time left unknown yet"
        seconds = (time.monotonic() - self.began) * (whole - done) / done
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"

    def clear(self) -> None:
        if self.redraws:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _asked(argv: Sequence[str], args: argparse.Namespace, prompts: int) -> Asked:
    """The user's own options, which mean the same to every command, without those of this one alone."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--figures", "--out", "--split", "--limit", "--also"):
        own.add_argument(option)
    _, others = own.parse_known_args(argv)
    options = shlex.join([*others, "--limit", str(prompts)])
    return Asked(options, args.split or "", also=str(args.also or ""))


def _facts(bench: Bench, ready: LoadedPair) -> dict[str, Any]:
    prompts = {"set": bench.material.prompts.name, "split": bench.material.split, "count": len(bench.prompts)}
    model = ready.target.runner.facts
    hardware = {**ready.hardware([]), "dtype": model.dtype, "runner": model.runner}
    own = bench.material.classifier_at("")
    classifier = {"name": f"{own.parent.name}/{own.name}"} if own else None
    made_of = {"pair": ready.name, "prompts": prompts, "sampling": bench.sampling.to_dict()}
    return {**made_of, "classifier": classifier, "hardware": hardware}


def _write(out: Path, name: str, content: str | bytes) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes) and name.endswith(".pdf"):
        part = out / f"{name}.part"
        part.write_bytes(content)
        part.replace(out / name)
        return
    with whole_file(out / name) as file:
        file.write(content if isinstance(content, str) else content.decode())


def main() -> int:
    from worker.terminal.ending import ended

    return ended(run, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(guarded(main))

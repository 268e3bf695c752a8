"""The models and prompts that a command runs on: the starter pair, or models of the user's own."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from decoding.errors import BadCheckpoint
from decoding.models.files import gguf_at
from decoding.vocabularies.fit import PairReport, check_pair
from webapp.core.hub import HubModel, parse
from worker import hub
from worker.disk import NotNow
from worker.messages import JobProgress
from worker.terminal.files import ROOT, kept
from worker.terminal.guarded import allow
from worker.terminal.options import BadArguments
from worker.terminal.progress import ProgressLines

MB = 10**6
PER_TOKEN = 8 << 10  # bytes that a tokenizer takes while it is made and checked

_using = ExitStack()  # keeps the folders as long as the command runs


@dataclass(frozen=True)
class Material:
    """A pair of models or a target alone, prompts for it, and the settings that suit it."""

    name: str
    target: Path
    draft: Path | None
    prompts: Path
    split: str | None = None
    settings: Path | None = None  # JSON: how to sample, as far as nobody asks for anything else
    named: Path | None = None  # the GGUF file that `target` was made of

    @cached_property
    def report(self) -> PairReport:
        """Facts about the models and whether they fit each other, read once."""
        return check_pair(self.target, self.draft)

    @property
    def own_classifier(self) -> Path:
        """Folder beside the target, where `train-disco` puts it. The cache of the hub has another place: beside a model
        its tools expect only what the hub gave."""
        given = self.named or self.target
        folder = (given.parent if given.is_file() else given).resolve()
        if HubModel.of_folder(folder):
            return folder.parents[3] / "assets" / "drafthouse" / folder.parents[1].name / "disco"
        return (folder if given.is_file() else folder.parent) / "disco"

    def as_folders(self) -> Material:
        """Return it with both models as folders: fetched, or made of a GGUF file."""
        target, draft = here(self.target), self.draft and here(self.draft)
        is_made = self.target.exists() and target != self.target
        return replace(self, target=target, draft=draft, named=self.target if is_made else None)

    def classifier_at(self, name: str) -> Path | None:
        if name:
            return Path(name)
        return self.own_classifier if self.own_classifier.is_dir() else None


STARTER = ROOT / "starter"
STARTER_PAIR = Material(
    name="starter",
    target=STARTER / "pair" / "target",
    draft=STARTER / "pair" / "draft",
    prompts=STARTER / "prompts" / "code.jsonl",
    split="test",
    settings=STARTER / "defaults.json",
)


def material_of(args: argparse.Namespace) -> Material:
    if getattr(args, "servers_only", False):
        return Material("servers alone", Path(), None, args.prompts)  # no target is opened
    if args.target is None and args.draft is None:
        material = STARTER_PAIR
    elif args.target is None:
        raise BadArguments("A draft needs a target to draft for: give --target MODEL too.")
    elif args.prompts is None:
        raise BadArguments("Models of your own need prompts: give --prompts FILE.")
    else:
        by = f"with {args.draft.name}" if args.draft else "alone"
        material = Material(f"{args.target.name} {by}", args.target, args.draft, args.prompts)
    if args.prompts is not None:
        material = replace(material, prompts=args.prompts, split=None)
    return material


def here(model: Path) -> Path:
    """Return a model's folder: the one that is named, one made of a GGUF file, or one of the hub, fetched first."""
    if model.exists():
        return model_folder(model)
    asked = parse(str(model))
    if asked is None or model.suffix == ".gguf":
        return model
    lines = ProgressLines(sys.stderr)

    def show(done: int, due: int) -> None:
        if due >= MB:
            lines.show(
                JobProgress(
                    f"fetching {asked}, MB", done // MB, due // MB, whole=(done // MB, due // MB), is_counted=True
                )
            )

    try:
        return hub.fetch(asked, lambda: True, show)
    except (BadCheckpoint, hub.Unreachable, NotNow) as trouble:
        raise BadCheckpoint(f"{model} is no folder here. {trouble}") from None
    finally:
        lines.close()


def model_folder(path: Path) -> Path:
    """Return the path, or the folder made of the GGUF file that it names."""
    try:
        file = gguf_at(path)
    except OSError:
        return path  # the next who opens it says why it cannot be read
    if file is None:
        return path
    from decoding.models.gguf.header import read_gguf
    from worker.cache import FileCache, NoRoom
    from worker.gguf_folders import folder_of_gguf

    header = read_gguf(file)
    size = f"{header.size / 1e6:,.0f} MB"
    print(f"Reading {file.name} ({header.format}, {size}), which is made into a model folder once.", file=sys.stderr)
    allow(PER_TOKEN * len(header.values.get("tokenizer.ggml.tokens") or ()))
    try:
        return folder_of_gguf(file, FileCache(*kept("models")), _using)
    except (NoRoom, NotNow) as trouble:
        raise BadCheckpoint(str(trouble)) from None

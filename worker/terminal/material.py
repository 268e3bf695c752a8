"""The models and prompts that a command runs on: a pair in the box, or models of the user's own."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from decoding.vocabularies.fit import PairReport, check_pair
from worker.terminal.files import ROOT
from worker.terminal.gguf import model_folder
from worker.terminal.parser import BadArguments


@dataclass(frozen=True)
class Material:
    """A pair of models or a target alone, prompts for it, and the settings that suit it."""

    name: str
    target: Path
    draft: Path | None
    prompts: Path
    split: str | None = None
    settings: Path | None = None  # JSON: how to sample, as far as nobody asks for anything else
    named: Path | None = None  # the target as the user named it, if that was a GGUF file

    @cached_property
    def report(self) -> PairReport:
        """Facts about the models and whether they fit each other, read once."""
        return check_pair(self.target, self.draft)

    @property
    def own_classifier(self) -> Path:
        """Beside the target, where `train-disco` puts it."""
        return (self.named or self.target).resolve().parent / "disco"

    def classifier_at(self, name: str) -> Path | None:
        if name:
            return Path(name)
        return self.own_classifier if self.own_classifier.is_dir() else None


STARTER = ROOT / "starter"
BOX = {
    "starter": Material(
        name="starter",
        target=STARTER / "pair" / "target",
        draft=STARTER / "pair" / "draft",
        prompts=STARTER / "prompts" / "code.jsonl",
        split="test",
        settings=STARTER / "defaults.json",
    )
}


def material_of(args: argparse.Namespace) -> Material:
    if getattr(args, "servers_only", False) and args.pair is None:
        return Material("servers alone", Path(), None, args.prompts)  # no target is opened
    if args.target is None and args.draft is None:
        material = _from_the_box(args.pair or "starter")
    elif args.pair is not None:
        raise BadArguments("--pair names both models; leave out --target and --draft, or leave out --pair.")
    elif args.target is None:
        raise BadArguments("A draft needs a target to draft for: give --target DIR too.")
    elif args.prompts is None:
        raise BadArguments("Models of your own need prompts: give --prompts FILE.")
    else:
        by = f"with {args.draft.name}" if args.draft else "alone"
        target, draft = model_folder(args.target), args.draft and model_folder(args.draft)
        named = args.target if target != args.target else None
        material = Material(f"{args.target.name} {by}", target, draft, args.prompts, named=named)
    if args.prompts is not None:
        material = replace(material, prompts=args.prompts, split=None)
    return material


def _from_the_box(name: str) -> Material:
    if name not in BOX:
        raise BadArguments(
            f"There is no pair {name!r} in the box; there is {', '.join(BOX)}. For models of your own, give "
            "--target DIR and, if there is one, --draft DIR."
        )
    return BOX[name]

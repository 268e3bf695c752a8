"""The starter pair and prompts: in the box, and in the first team's registry from the first start on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from webapp.accounts import actor as actors
from webapp.accounts import services as accounts
from webapp.accounts.actor import Actor
from webapp.comparisons import demo
from webapp.registry import prompt_sets
from webapp.registry import services as registry
from webapp.registry.models import Dataset, LanguageModel, Pair
from webapp.studies.classifiers import services as classifying
from webapp.uploads import services as uploads

ROOT = Path(__file__).resolve().parents[2]
PAIR = ROOT / "starter" / "pair"
PROMPTS = ROOT / "starter" / "prompts"
ROLES = ("target", "draft")
NAME = demo.STARTER


def load() -> None:
    """Load the starter once: not again, even if somebody has put it into the bin since."""
    owner = actors.of_user(accounts.first_owner())
    for path in sorted(PROMPTS.glob("*.jsonl")):
        _load_prompts(path, owner)
    if all((PAIR / role / "config.json").exists() for role in ROLES):
        _load_pair(owner)
    else:
        sys.stderr.write("There is no starter pair in starter/pair yet; add models of your own on the Models page.\n")


def launch_demo() -> None:
    owner = actors.of_user(accounts.first_owner())
    if demo.wanted(owner):
        demo.launch(by=owner)
    else:
        sys.stderr.write("There is no starter pair to show; the demo is left out.\n")


def _load_prompts(path: Path, owner: Actor) -> None:
    name = f"{NAME} {path.stem}"
    if not Dataset.objects.filter(team=owner.home, name=name).exists():
        kept = uploads.keep(team=owner.home, name=path.name, files=[(path.name, path.read_bytes())], by=owner)
        prompt_sets.add_dataset(name=name, upload=kept, by=owner)


def _load_pair(owner: Actor) -> None:
    if not Pair.objects.filter(team=owner.home, name=NAME).exists():
        target, draft = (_model(role, owner) for role in ROLES)
        pair = registry.add_pair(name=NAME, target=target, draft=draft, by=owner)
        if (PAIR / "disco").exists():
            files = _files(PAIR / "disco")
            kept = uploads.keep(team=owner.home, name=f"{NAME} classifier", files=files, by=owner)
            classifying.add_classifier(name=f"{NAME} classifier", pair=pair, upload=kept, by=owner)


def _model(role: str, owner: Actor) -> LanguageModel:
    name = f"{NAME} {role}"
    found = LanguageModel.objects.filter(team=owner.home, name=name).first()
    if found is None:
        kept = uploads.keep(team=owner.home, name=name, files=_files(PAIR / role), by=owner)
        found = registry.add_model(name=name, upload=kept, by=owner)
    return found


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    return ((path.name, path.read_bytes()) for path in sorted(folder.iterdir()) if path.is_file())

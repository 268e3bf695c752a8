"""A recipe of seconds, run as a command of its own so that it can be sent signals: `python tiny.py OUT WORK CORPUS`."""

import sys
from pathlib import Path

import torch

from starter.loop import Plan
from starter.models import shape
from starter.train import Recipe, Workshop, begun_with, say, told


def plan(steps: int, fall: float) -> Plan:
    return Plan(steps=steps, minutes=0, fall=fall, tokens_per_step=128, short=32, long=64)


RECIPE = Recipe(
    young=shape(hidden=64, inner=96, layers=1, heads=1, key_heads=1),
    target=shape(hidden=64, inner=96, layers=2, heads=1, key_heads=1),
    draft=shape(hidden=32, inner=48, layers=1, heads=1, key_heads=1),
    young_plan=plan(30, fall=0.0),
    target_plan=plan(40, fall=0.5),
    reader_plan=plan(15, fall=0.0),
    draft_plan=plan(20, fall=0.5),
    vocabulary=400,
    own_tokens=1,
)


def make(out: Path, work: Path, corpus: Path) -> None:
    work.mkdir(exist_ok=True)
    begun_with(work, RECIPE.seed, corpus)
    workshop = Workshop(RECIPE, work, say)
    workshop.make_corpus(corpus, out / "prompts")
    workshop.train_target(out / "target")
    workshop.write_own_texts(out / "target")
    workshop.train_draft(out / "target", out / "draft")


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(told(lambda: make(*map(Path, sys.argv[1:]))))

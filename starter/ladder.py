"""Drafts of other sizes for the target in the box: `python -m starter.ladder`.

A rung is named by its layers and its width. Today's draft is 2x192. A rung of its width starts from its layers, so that
it knows the corpus already; a rung of another width reads the corpus first. Then each follows the target, as the draft
in the box did. The target stays as it is.
"""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from starter.loop import Plan
from starter.models import Shape, adopting_embeddings, grown, save_checkpoint, shape, without_layers
from starter.train import Say, Workshop, begun_with, say, starter_recipe, told

COMMAND = "python -m starter.ladder"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Rung:
    """One size. Without `reads`, it starts from the draft in the box."""

    name: str
    shape: Shape
    follows: float  # share of the minutes
    reads: float = 0.0  # share of the minutes


RUNGS = (
    Rung("1x96", shape(hidden=96, inner=256, layers=1, heads=2, key_heads=1), reads=0.13, follows=0.17),
    Rung("1x192", shape(hidden=192, inner=512, layers=1, heads=3, key_heads=1), follows=0.3),
    Rung("4x192", shape(hidden=192, inner=512, layers=4, heads=3, key_heads=1), follows=0.4),
)


@dataclass(frozen=True)
class Ladder:
    """Everything that decides the result, except the pair and the corpus."""

    rungs: tuple[Rung, ...] = RUNGS
    minutes: float = 45  # of all rungs together
    steps: int | None = None  # of each part, instead of minutes
    own_tokens: int = 400_000
    seed: int = 0

    def plan(self, share: float, fall: float) -> Plan:
        return Plan(self.steps, self.minutes * share, fall)

    def following(self, rung: Rung) -> Plan:
        plan = replace(self.plan(rung.follows, fall=0.6), tokens_per_step=2048)
        return plan if rung.reads else replace(plan, matrix_lr=0.01, other_lr=0.002)  # it knows the corpus already


def make_ladder(ladder: Ladder, pair: Path, out: Path, work: Path, corpus: Path | None, say: Say) -> None:
    """Make every rung that is missing."""
    work.mkdir(parents=True, exist_ok=True)
    begun_with(work, ladder.seed, corpus)
    recipe = replace(starter_recipe(ladder.minutes, None, ladder.seed), own_tokens=ladder.own_tokens)
    workshop = Workshop(recipe, work, say)
    workshop.is_compiling = False  # each rung would be compiled anew
    workshop.read_corpus_again(corpus, Tokenizer.from_file(str(pair / "target" / "tokenizer.json")))
    workshop.write_own_texts(pair / "target")
    target = workshop.load_target(pair / "target")
    draft = LlamaForCausalLM.from_pretrained(pair / "draft", dtype=torch.float32)
    for rung in ladder.rungs:
        model = workshop.new_model(rung.shape)
        if rung.reads:
            adopting_embeddings(model, target)
            workshop.read(f"{rung.name}-reader", model, ladder.plan(rung.reads, fall=0.0))
        else:
            begin_from(draft, model)
        workshop.follow(rung.name, model, target, ladder.following(rung))
        save_checkpoint(model, workshop.tokenizer(), out / rung.name)


@torch.no_grad()
def begin_from(draft: LlamaForCausalLM, rung: LlamaForCausalLM) -> None:
    """Copy the draft into a rung of its width: its first layers, or all of them and more that begin as the identity."""
    layers, wanted = len(draft.model.layers), len(rung.model.layers)
    if wanted > layers:
        grown(draft, rung)
        return
    rung.load_state_dict({**rung.state_dict(), **without_layers(draft)})
    for ours, theirs in zip(rung.model.layers, draft.model.layers, strict=False):
        ours.load_state_dict(theirs.state_dict())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--pair", type=Path, default=HERE / "pair", help="whose target they follow (%(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "ladder", help="gets a folder of each rung (%(default)s)")
    parser.add_argument("--work", type=Path, default=HERE / "training" / "ladder", help="a later call goes on from it")
    parser.add_argument("--corpus", type=Path, help="a folder of sources instead of the installed packages")
    parser.add_argument("--minutes", type=float, default=45, help="of training, all together (%(default)s)")
    parser.add_argument("--own-tokens", type=int, default=400_000, help="that the target writes first (%(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of the processor (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    ladder = Ladder(minutes=options.minutes, own_tokens=options.own_tokens, seed=options.seed)
    return told(lambda: make_ladder(ladder, options.pair, options.out, options.work, options.corpus, say))


if __name__ == "__main__":
    sys.exit(main())

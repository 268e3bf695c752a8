"""A lesson in copying for the starter pair: `python -m starter.copying.lesson`.

The target goes on from its checkpoint. Some steps read the corpus as before, so that it forgets nothing; the others
read texts whose ends stand in their beginnings: edits, quotes and records as in the prompt sets, but of other code,
other documents and other records, and passages that come twice. Then the draft follows the target on the same mixture
and on the target's own text, and so does every rung of the ladder. Those in the box stay as they are; the result lies
in a folder of its own.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import LlamaForCausalLM

from starter.copying.edits import edits
from starter.copying.measure import measure
from starter.copying.quotes import quotes
from starter.copying.records import KINDS, TRAIN, records
from starter.copying.sets import HERE
from starter.copying.task import Task, digest
from starter.corpus import Source, read_corpus
from starter.distil import Turns, divergence, own_texts
from starter.loop import Batches, Plan, Training, Windows
from starter.models import held_out_loss, next_token_loss, save_checkpoint
from starter.tokenizer import CONTEXT, encode
from starter.train import Say, begun_with, say, told

COMMAND = "python -m starter.copying.lesson"
TEXTS = 4000  # of each kind
PASSAGE = 12  # lines that come twice
VALIDATION = 20  # prompts of each set
OWN_TOKENS = 400_000  # of the target's own text that the drafts read


@dataclass(frozen=True)
class Lesson:
    """Everything that decides the result, except the pair and the corpus. Without steps of the target, only the drafts
    learn: those that have had a lesson go on.

    Sequences have the full context from the start, because a shorter one cuts answers off from their prompts. The
    learning rate is two fifths of the first training's, for the drafts one fifth, and falls all the way: all of them
    know the corpus already.
    """

    target_plan: Plan
    draft_plan: Plan  # of each draft
    share: float = 0.3  # of the steps read texts that copy
    texts: int = TEXTS
    own_tokens: int = OWN_TOKENS
    seed: int = 0


def lesson(steps: int, draft_steps: int, share: float, seed: int, own_tokens: int = OWN_TOKENS) -> Lesson:
    plan = Plan(steps, minutes=0, fall=1.0, short=CONTEXT, long=CONTEXT, matrix_lr=0.008, other_lr=0.0016)
    following = replace(plan, steps=draft_steps, tokens_per_step=2048, matrix_lr=0.004, other_lr=0.0008)
    return Lesson(plan, following, share, own_tokens=own_tokens, seed=seed)


@dataclass(frozen=True)
class Mixture:
    """Batches of two sources. `share` of the steps read the second, evenly spread."""

    usual: Batches
    special: Batches
    share: float

    def batch(self, step: int, rows: int, length: int) -> Tensor:
        before, now = (int(number * self.share) for number in (step, step + 1))
        if now > before:
            return self.special.batch(before, rows, length)
        return self.usual.batch(step - before, rows, length)


def lesson_texts(sources: list[Source], count: int, seed: int) -> list[str]:
    """Make texts that copy, from the sources that the models may read: up to `count` of each kind, mixed."""
    known = [source for source in sources if source.split == "corpus"]
    per_kind = 1 + count // (len(TRAIN) * len(KINDS))
    kinds: tuple[Iterable[Task], ...] = (
        chain.from_iterable(edits(source.name, source.code) for source in known if source.code),
        chain.from_iterable(quotes(source.name, text) for source in known for text in source.prose),
        chain.from_iterable(records(name, fields, seed, per_kind=per_kind) for name, fields in TRAIN.items()),
        repeats(known),
    )
    tasks = chain.from_iterable(islice(sorted(kind, key=_shuffled(seed)), count) for kind in kinds)
    return [task.text + task.reference for task in sorted(tasks, key=_shuffled(seed))]


def _shuffled(seed: int) -> Callable[[Task], str]:
    return lambda task: digest(f"{seed} {task.source} {task.text}")


def repeats(sources: list[Source]) -> Iterator[Task]:
    """Yield a passage of every document, twice."""
    for source in sources:
        for text in source.documents:
            lines = text.splitlines()
            first = random.Random(digest(text)).randrange(max(1, len(lines) - PASSAGE + 1))
            passage = "\n".join(lines[first : first + PASSAGE])
            yield Task(f"{passage}\n\n", f"{passage}\n", "repeat", source.name)


class Classroom:
    """Work folder of one lesson, and its parts in the order in which they are made."""

    def __init__(self, recipe: Lesson, pair: Path, work: Path, say: Say):
        self.recipe, self.pair, self.work, self.say = recipe, pair, work, say
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = Tokenizer.from_file(str(pair / "target" / "tokenizer.json"))

    def prepare(self, corpus: Path | None) -> None:
        """Write the tokens of the corpus, of the lesson and of the held-out files."""
        path = self.work / "lesson.npz"
        if path.exists():
            return
        sources = read_corpus(corpus)
        parts = {
            "corpus": [text for source in sources if source.split == "corpus" for text in source.documents],
            "lesson": lesson_texts(sources, self.recipe.texts, self.recipe.seed),
            "held_out": [text for source in sources if source.split == "validation" for text in source.documents],
        }
        parts["held_out"] = parts["held_out"] or parts["corpus"][:1]
        tokens = {name: encode(self.tokenizer, texts) for name, texts in parts.items()}
        part = path.with_suffix(".part.npz")
        np.savez(part, **tokens)
        part.replace(path)
        self.say(", ".join(f"{name}: {len(row):,} tokens" for name, row in tokens.items()))

    def tokens(self, part: str) -> np.ndarray:
        return np.load(self.work / "lesson.npz")[part]

    def mixture(self) -> Mixture:
        seed = self.recipe.seed
        return Mixture(Windows(self.tokens("corpus"), seed), Windows(self.tokens("lesson"), seed), self.recipe.share)

    def teach_target(self, out: Path) -> None:
        target = self._load(self.pair / "target")
        if self.recipe.target_plan.steps:
            self._train("target", target, self.recipe.target_plan, self.mixture(), next_token_loss)
        save_checkpoint(target, self.tokenizer, out)

    def teach_draft(self, target_folder: Path, begins: Path, out: Path) -> None:
        """Let a draft follow the target where it copies, and in the target's own text."""
        target, draft = self._load(target_folder).eval(), self._load(begins)
        both = Turns(self.mixture(), Windows(self._own_texts(target), self.recipe.seed))
        self._train(out.name, draft, self.recipe.draft_plan, both, partial(divergence, target))
        save_checkpoint(draft, self.tokenizer, out)

    def _own_texts(self, target: LlamaForCausalLM) -> np.ndarray:
        path = self.work / "own.npy"
        if not path.exists():
            texts = own_texts(target, self.tokens("corpus"), self.recipe.own_tokens, self.recipe.seed, self.say)
            part = path.with_suffix(".part.npy")
            np.save(part, texts)
            part.replace(path)
        return np.load(path)

    def _train(
        self,
        name: str,
        model: LlamaForCausalLM,
        plan: Plan,
        batches: Batches,
        loss_of: Callable[[LlamaForCausalLM, Tensor], Tensor],
    ) -> None:
        held_out = self.tokens("held_out")
        training = Training(model, plan, self.work / f"{name}.pt")
        if training.resume():
            self.say(f"the {name} goes on from step {training.progress.step}")
        else:
            self.say(f"{name}: held-out loss {held_out_loss(model, held_out):.3f} before the lesson")
        training.run(
            batches,
            partial(loss_of, model),
            lambda: held_out_loss(model, held_out),
            lambda line: self.say(f"{name}: {line}"),
        )

    def _load(self, folder: Path) -> LlamaForCausalLM:
        return LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).to(self.device)


def teach(recipe: Lesson, pair: Path, ladder: Path, work: Path, corpus: Path | None, say: Say) -> Path:
    """Make all parts that are missing, and return the folder of the new pair. The new ladder lies beside it."""
    work.mkdir(parents=True, exist_ok=True)
    begun_with(work, recipe.seed, corpus)
    classroom, out = Classroom(recipe, pair, work, say), work / "pair"
    classroom.prepare(corpus)
    classroom.teach_target(out / "target")
    classroom.teach_draft(out / "target", pair / "draft", out / "draft")
    for rung in sorted(path.parent for path in ladder.glob("*/config.json")):
        classroom.teach_draft(out / "target", rung, work / "ladder" / rung.name)
    return out


def compare(pair: Path, taught: Path, say: Say) -> None:
    """Say how much either target copies, on validation prompts."""
    for name, folder in (("before", pair), ("after", taught)):
        for row in measure(folder / "target", HERE / "prompts", "validation", VALIDATION):
            say(f"{name}: {json.dumps(row)}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--pair", type=Path, default=HERE / "pair", help="where to go on from (%(default)s)")
    parser.add_argument("--ladder", type=Path, default=HERE / "ladder", help="further drafts (%(default)s)")
    parser.add_argument(
        "--work", type=Path, default=HERE / "training" / "copying", help="gets pair/, ladder/ and what is kept"
    )
    parser.add_argument("--corpus", type=Path, help="a folder of sources instead of the installed packages")
    parser.add_argument("--steps", type=int, default=1000, help="of the target; 0: it stays as it is (%(default)s)")
    parser.add_argument("--draft-steps", type=int, default=1200, help="of each draft (%(default)s)")
    parser.add_argument("--own-tokens", type=int, default=OWN_TOKENS, help="of the target's own text (%(default)s)")
    parser.add_argument("--share", type=float, default=0.3, help="of the steps that read texts that copy (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if min(options.steps + 1, options.draft_steps, options.own_tokens) < 1 or not 0 < options.share < 1:
        parser.error("--draft-steps and --own-tokens are at least 1, --steps 0, and --share lies between 0 and 1")
    recipe = lesson(options.steps, options.draft_steps, options.share, options.seed, options.own_tokens)
    places = (options.pair, options.ladder, options.work, options.corpus)
    return told(lambda: compare(options.pair, teach(recipe, *places, say), say))


if __name__ == "__main__":
    sys.exit(main())

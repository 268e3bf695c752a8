"""Make the starter pair from nothing in one command: `python -m starter.train`.

Corpus, tokenizer, prompts, target, the target's own text, draft, measurements, model card. Each finished part is kept
in the work folder, so the same command continues where it was stopped.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import LlamaForCausalLM

from decoding.errors import DrafthouseError
from starter.card import machine, write_card
from starter.corpus import BYTES_PER_PACKAGE, PYTHON_LICENCE, SHARES, SOURCES, Source, read_corpus
from starter.distil import Turns, divergence, own_texts
from starter.loop import Batches, Plan, Progress, Stopped, Training, Windows
from starter.measure import NEW_TOKENS, PROMPTS, measure
from starter.models import (
    Shape,
    adopting_embeddings,
    build_model,
    grown,
    held_out_loss,
    next_token_loss,
    save_checkpoint,
    shape,
    told_shape,
)
from starter.prompt_sets import prompt_sets, write_prompts
from starter.tokenizer import CONTEXT, VOCABULARY, encode, train_tokenizer

COMMAND = "python -m starter.train"
DEFAULTS = Path(__file__).with_name("defaults.json")

MODELS = ("young", "target", "reader", "draft")  # in training order

Say = Callable[[str], None]
Loss = Callable[[LlamaForCausalLM, Tensor], Tensor]


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the result, except the corpus.

    The target begins as `young`, with fewer layers, because the first tokens teach a small model as much as a large one
    at half the cost; then it grows to its full depth. The draft begins as a `reader` of the corpus, three times as fast
    as learning from the target.
    """

    young: Shape
    target: Shape
    draft: Shape
    young_plan: Plan
    target_plan: Plan
    reader_plan: Plan
    draft_plan: Plan
    vocabulary: int = VOCABULARY
    own_tokens: int = 400_000  # of the target's own text
    seed: int = 0


def starter_recipe(minutes: float, steps: int | None, seed: int) -> Recipe:
    """Recipe with most of the time for the target: people read its text, and the draft only follows it."""

    def plan(share: float, fall: float) -> Plan:
        return Plan(steps=steps and round(steps * share), minutes=minutes * share, fall=fall)

    return Recipe(
        young=shape(hidden=384, inner=1024, layers=6, heads=6, key_heads=2),
        target=shape(hidden=384, inner=1024, layers=10, heads=6, key_heads=2),
        draft=shape(hidden=192, inner=512, layers=2, heads=3, key_heads=1),
        young_plan=plan(0.18, fall=0.0),
        target_plan=plan(0.40, fall=0.27),
        reader_plan=plan(0.20, fall=0.0),
        draft_plan=replace(plan(0.22, fall=0.4), tokens_per_step=2048),
        seed=seed,
    )


class Workshop:
    """Work folder of one recipe, and its parts in the order in which they are made."""

    def __init__(self, recipe: Recipe, folder: Path, say: Say):
        self.recipe = recipe
        self.folder = folder
        self.say = say
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # A compiled step takes 3/4 of the time here; for tiny models compiling takes longer than it saves.
        self.is_compiling = shutil.which("c++") is not None and recipe.target["hidden_size"] >= 256

    def make_corpus(self, corpus_folder: Path | None, prompts_folder: Path) -> None:
        """Read the sources; write their tokens, the tokenizer and the prompts."""
        if (self.folder / "corpus.npz").exists():
            return
        self.say("reading the sources")
        sources = read_corpus(corpus_folder)
        corpus, held_out = texts_of(sources)
        tokenizer = train_tokenizer(corpus, self.recipe.vocabulary)
        tokenizer.save(str(self.folder / "tokenizer.json"))
        prompts_folder.mkdir(parents=True, exist_ok=True)
        for kind, prompts in prompt_sets(sources, tokenizer).items():
            write_prompts(prompts, prompts_folder / f"{kind}.jsonl")
            self.say(f"{len(prompts)} {kind} prompts from files that neither model will see")
        write_json(self.folder / "sources.json", told_sources(sources))
        self._write_tokens(tokenizer, corpus, held_out)

    def read_corpus_again(self, corpus_folder: Path | None, tokenizer: Tokenizer) -> None:
        """Read the sources with the tokenizer of a pair that exists already."""
        if (self.folder / "corpus.npz").exists():
            return
        self.say("reading the sources")
        tokenizer.save(str(self.folder / "tokenizer.json"))
        self._write_tokens(tokenizer, *texts_of(read_corpus(corpus_folder)))

    def _write_tokens(self, tokenizer: Tokenizer, corpus: list[str], held_out: list[str]) -> None:
        tokens = {"corpus": encode(tokenizer, corpus), "held_out": encode(tokenizer, held_out or corpus[:1])}
        part = self.folder / "corpus.part.npz"
        np.savez(part, **tokens)
        part.replace(self.folder / "corpus.npz")
        self.say(f"{len(tokens['corpus']):,} tokens to train on, {len(tokens['held_out']):,} held out")

    def tokenizer(self) -> Tokenizer:
        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    def tokens(self, part: str) -> np.ndarray:
        return np.load(self.folder / "corpus.npz")[part]

    def train_target(self, folder: Path) -> None:
        windows = Windows(self.tokens("corpus"), self.recipe.seed)
        young = self._compiled(self.new_model(self.recipe.young))
        self._train("young", young, self.recipe.young_plan, windows, next_token_loss)
        unread = replace(windows, first=self._progress("young").step)
        target = self._compiled(grown(young, self.new_model(self.recipe.target)))
        self._train("target", target, self.recipe.target_plan, unread, next_token_loss)
        save_checkpoint(target, self.tokenizer(), folder)

    def _compiled(self, model: LlamaForCausalLM) -> LlamaForCausalLM:
        if self.is_compiling:
            model.model.compile(dynamic=False)
        return model

    def write_own_texts(self, target_folder: Path) -> None:
        if (self.folder / "own.npy").exists():
            return
        target = self._load(target_folder)
        texts = own_texts(target, self.tokens("corpus"), self.recipe.own_tokens, self.recipe.seed, self.say)
        part = self.folder / "own.part.npy"
        np.save(part, texts)
        part.replace(self.folder / "own.npy")

    def train_draft(self, target_folder: Path, folder: Path) -> None:
        target = self.load_target(target_folder)
        draft = self._compiled(adopting_embeddings(self.new_model(self.recipe.draft), target))
        self.read("reader", draft, self.recipe.reader_plan)
        self.follow("draft", draft, target, self.recipe.draft_plan)
        save_checkpoint(draft, self.tokenizer(), folder)

    def load_target(self, folder: Path) -> LlamaForCausalLM:
        return self._compiled(self._load(folder))

    def read(self, name: str, draft: LlamaForCausalLM, plan: Plan) -> None:
        """Let a draft read the corpus."""
        self._train(name, draft, plan, Windows(self.tokens("corpus"), self.recipe.seed), next_token_loss)

    def follow(self, name: str, draft: LlamaForCausalLM, target: LlamaForCausalLM, plan: Plan) -> None:
        """Let a draft follow the target, on the corpus and on the target's own text."""
        sources = (self.tokens("corpus"), np.load(self.folder / "own.npy"))
        both = Turns(*(Windows(tokens, self.recipe.seed) for tokens in sources))
        self._train(name, draft, plan, both, partial(divergence, target))

    def new_model(self, its_shape: Shape) -> LlamaForCausalLM:
        return build_model(its_shape, self.tokenizer().get_vocab_size(), self.recipe.seed).to(self.device)

    def records(self) -> dict[str, Any]:
        """Return the records of the training: the sources and the held-out losses."""
        return {
            "sources": json.loads((self.folder / "sources.json").read_text("utf-8")),
            "losses": {name: self._progress(name).losses for name in MODELS},
        }

    def facts(self, pair: Path) -> dict[str, Any]:
        """Return the facts that the model card states."""
        recipe, held_out = self.recipe, self.tokens("held_out")
        facts: dict[str, Any] = {
            "command": COMMAND,
            "machine": machine(),
            "vocabulary": self.tokenizer().get_vocab_size(),
            "context": CONTEXT,
            "young_layers": recipe.young["num_hidden_layers"],
            "prompts": PROMPTS,
            "new_tokens": NEW_TOKENS,
            "package_megabytes": BYTES_PER_PACKAGE / 1e6,
            "held_out": max(SHARES.values()),
        }
        for name, its_shape in (("target", recipe.target), ("draft", recipe.draft)):
            model = self._load(pair / name)
            facts |= {
                f"{name}_millions": model.num_parameters() / 1e6,
                f"{name}_shape": told_shape(its_shape),
                f"{name}_loss": held_out_loss(model, held_out),
            }
        plans = (recipe.young_plan, recipe.target_plan, recipe.reader_plan, recipe.draft_plan)
        for name, plan in zip(MODELS, plans, strict=True):
            progress = self._progress(name)
            facts |= {
                f"{name}_steps": progress.step,
                f"{name}_tokens": progress.step * plan.tokens_per_step / 1e6,
                f"{name}_minutes": progress.seconds / 60,
            }
        return facts

    def _progress(self, name: str) -> Progress:
        return Progress(**torch.load(self.folder / f"{name}.pt", weights_only=True)["progress"])

    def _train(self, name: str, model: LlamaForCausalLM, plan: Plan, batches: Batches, loss_of: Loss) -> None:
        training = Training(model, plan, self.folder / f"{name}.pt")
        if training.resume():
            self.say(f"the {name} goes on from step {training.progress.step}")
        held_out = self.tokens("held_out")
        training.run(
            batches,
            partial(loss_of, model),
            lambda: held_out_loss(model, held_out),
            lambda line: self.say(f"{name}: {line}"),
        )

    def _load(self, folder: Path) -> LlamaForCausalLM:
        return LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(self.device).eval()


def texts_of(sources: list[Source]) -> tuple[list[str], list[str]]:
    """Return the texts to train on, and those held out."""
    corpus, held_out = (
        [text for source in sources if source.split == split for text in source.documents]
        for split in ("corpus", "validation")
    )
    return corpus, held_out


def told_sources(sources: list[Source]) -> list[dict[str, str | int]]:
    """List the packages in the corpus, one row each."""
    rows: dict[str, dict[str, str | int]] = {}
    for source in sources:
        package = source.name.split("/")[0]
        if package not in rows:
            version, licence = told_package(package)
            rows[package] = {"package": package, "version": version, "licence": licence, "files": 0, "characters": 0}
        rows[package]["files"] += 1
        rows[package]["characters"] += sum(map(len, source.documents))
    return list(rows.values())


def told_package(package: str) -> tuple[str, str]:
    if package == "python":
        return python_version(), PYTHON_LICENCE
    if package in SOURCES:
        return metadata.version(package), SOURCES[package]
    return "", "not known: a folder of one's own"


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def make_pair(recipe: Recipe, out: Path, work: Path, corpus: Path | None, say: Say) -> None:
    """Make all parts that are missing."""
    work.mkdir(parents=True, exist_ok=True)
    begun_with(work, recipe.seed, corpus)
    workshop = Workshop(recipe, work, say)
    pair = out / "pair"
    workshop.make_corpus(corpus, out / "prompts")
    workshop.train_target(pair / "target")
    workshop.write_own_texts(pair / "target")
    workshop.train_draft(pair / "target", pair / "draft")
    sampling = json.loads(DEFAULTS.read_text("utf-8"))["sampling"]
    torch.set_num_threads(1)  # a pair of models shares a machine: the card states the speed of one core
    measured = measure(pair, out / "prompts", sampling, say)
    facts = {"made": workshop.facts(pair), "measured": measured, "sampling": sampling}
    facts |= workshop.records()
    write_card(pair / "README.md", facts)
    say(f"the pair is in {pair}; its card is {pair / 'README.md'}")


def begun_with(work: Path, seed: int, corpus: Path | None) -> None:
    """Refuse a work folder that was begun with another seed or corpus."""
    mine = {"seed": seed, "corpus": str(corpus or "installed packages")}
    path = work / "begun.json"
    if not path.exists():
        write_json(path, mine)
    elif (theirs := json.loads(path.read_text("utf-8"))) != mine:
        raise DrafthouseError(
            f"{work} was begun with seed {theirs['seed']} and the corpus {theirs['corpus']}; now it is seed "
            f"{mine['seed']} and {mine['corpus']}. Ask for the same again, or name another --work folder."
        )


def main(arguments: list[str] | None = None) -> int:
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--out", type=Path, default=here, help="gets pair/ and prompts/ (%(default)s)")
    parser.add_argument("--work", type=Path, default=here / "training", help="what a later call goes on from")
    parser.add_argument("--corpus", type=Path, help="a folder of sources instead of the installed packages")
    parser.add_argument("--minutes", type=float, default=70, help="of training, both models together (%(default)s)")
    parser.add_argument("--steps", type=int, help="of training, instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    recipe = starter_recipe(options.minutes, options.steps, options.seed)
    return told(lambda: make_pair(recipe, options.out, options.work, options.corpus, say))


def say(line: str) -> None:
    print(line, flush=True)


def told(work: Callable[[], None]) -> int:
    """Run the work. Turn errors that a user can fix into a sentence and an exit code."""
    try:
        work()
    except Stopped as stopped:
        say(str(stopped))
        return 130
    except DrafthouseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

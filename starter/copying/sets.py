"""The prompt sets `edits`, `json` and `quotes`: `python -m starter.copying.sets` writes them into starter/prompts.

Code and texts are this project's own. Splits share no file and no kind of record.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tokenizers import Tokenizer

from starter.copying.edits import edits, parses
from starter.copying.quotes import quotes
from starter.copying.records import DOMAINS, PER_KIND, records
from starter.copying.task import Task, digest, split_of
from starter.prompt_sets import StarterPrompt, write_prompts

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
CODE = ("decoding", "webapp", "worker")
DOCUMENTS = ("docs", "starter")
LEFT_OUT = {"migrations", "log", "api", "pair", "training"}
SIZES = {"train": 32, "validation": 10, "test": 20}  # prompts of each category
PER_SOURCE = 2  # of each category
PROMPT = range(48, 561)  # tokens
ANSWER = range(40, 301)  # tokens
LEAST_COPIED = 0.3  # of the answer's 4-grams


@dataclass(frozen=True)
class CopyingPrompt(StarterPrompt):
    """One line of a prompt file, with the answer that copies."""

    reference: str


def copying_sets(root: Path, tokenizer: Tokenizer) -> dict[str, list[CopyingPrompt]]:
    """Make the three sets from the project under `root`."""
    code = chain.from_iterable(edits(name, text) for name, text in files(root, CODE, "*.py") if parses(text))
    prose = chain.from_iterable(
        quotes(name, text) for name, text in [*files(root, DOCUMENTS, "*.md"), *docstrings(root)]
    )
    split_of_domain = {domain: split for split, domains in DOMAINS.items() for domain in domains}
    filled = chain.from_iterable(records(name, DOMAINS[split][name], 0) for name, split in split_of_domain.items())
    return {
        "edits": list(chosen("edits", code, tokenizer)),
        "json": list(chosen("json", filled, tokenizer, split_of_domain, per_source=PER_KIND)),
        "quotes": list(chosen("quotes", prose, tokenizer)),
    }


def files(root: Path, folders: Iterable[str], pattern: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((root / folder).rglob(pattern)):
            name = path.relative_to(root)
            if not LEFT_OUT & set(name.parts):
                yield name.as_posix(), path.read_text("utf-8")


def docstrings(root: Path) -> Iterator[tuple[str, str]]:
    """Yield what modules say of themselves."""
    for name, code in files(root, CODE, "*.py"):
        if parses(code) and (text := ast.get_docstring(ast.parse(code))):
            yield name, text


def in_hash_order(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: digest(task.source + task.text))


def chosen(
    name: str,
    tasks: Iterable[Task],
    tokenizer: Tokenizer,
    splits: dict[str, str] | None = None,
    per_source: int = PER_SOURCE,
) -> Iterator[CopyingPrompt]:
    """Take tasks of every category and split until there are enough, mixed, so that the first few are of every kind."""
    taken: Counter[tuple[str, ...]] = Counter()
    seen: set[str] = set()
    for task in in_hash_order(tasks):
        split = splits[task.source] if splits else split_of(task.source)
        kind, origin = (split, task.category), (task.source, task.category)
        full = taken[kind] == SIZES[split] or taken[origin] == per_source
        if full or task.text in seen or not is_fit(task, tokenizer):
            continue
        seen.add(task.text)
        taken.update([kind, origin, (split,)])
        source = task.source if splits else f"drafthouse/{task.source}"
        number = f"{name}-{split}-{taken[split,]:03}"
        yield CopyingPrompt(number, task.text, task.category, split, source, task.reference)


def is_fit(task: Task, tokenizer: Tokenizer) -> bool:
    """Tell whether prompt and answer have a fitting length and the answer copies enough."""
    prompt, answer = (tokenizer.encode(text).ids for text in (task.text, task.reference))
    return len(prompt) in PROMPT and len(answer) in ANSWER and copied(prompt, answer) >= LEAST_COPIED


def copied(prompt: list[int], answer: list[int], size: int = 4) -> float:
    """Return the share of the answer's n-grams that stand in the prompt."""
    there = set(zip(*(prompt[i:] for i in range(size)), strict=False))
    grams = list(zip(*(answer[i:] for i in range(size)), strict=False))
    return sum(gram in there for gram in grams) / max(1, len(grams))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m starter.copying.sets", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to take code and texts from")
    parser.add_argument("--out", type=Path, default=HERE / "prompts", help="gets the files (%(default)s)")
    parser.add_argument("--tokenizer", type=Path, default=HERE / "pair" / "target" / "tokenizer.json")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, prompts in copying_sets(options.root, Tokenizer.from_file(str(options.tokenizer))).items():
        write_prompts(prompts, options.out / f"{name}.jsonl")
        print(f"{len(prompts)} prompts in {options.out / name}.jsonl")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

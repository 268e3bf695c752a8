"""How much a target copies: the share of its own text's 4-grams that stand in the prompt, by prompt set and sampling.

`python -m starter.copying.measure` prints it for the starter target, beside the same share of the reference answers.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from starter.copying.sets import HERE, copied
from starter.text import sampler, write

NEW_TOKENS = 128
SETS = ("edits", "json", "quotes")


def copying(
    target: LlamaForCausalLM, prompts: list[list[int]], answers: list[list[int]], sampling: dict[str, Any]
) -> dict[str, float]:
    """Let the target write as many tokens as each answer has, and compare what it copies with what the answer does."""
    choose = sampler(sampling["temperature"], seed=0, penalty=sampling.get("repetition_penalty", 1.0))
    answers = [answer[:NEW_TOKENS] for answer in answers]
    texts = write(target, prompts, max(map(len, answers)), choose)
    texts = [text[: len(answer)] for text, answer in zip(texts, answers, strict=True)]
    return {"target": mean_copied(prompts, texts), "reference": mean_copied(prompts, answers)}


def mean_copied(prompts: list[list[int]], texts: list[list[int]]) -> float:
    return round(statistics.mean(copied(prompt, text) for prompt, text in zip(prompts, texts, strict=True)), 3)


def evenly(path: Path, split: str, count: int) -> list[dict[str, str]]:
    """Take so many prompts of a split, spread over the file so that every category is there."""
    rows = [row for row in map(json.loads, path.read_text("utf-8").splitlines()) if row["split"] == split]
    return [rows[i * len(rows) // count] for i in range(min(count, len(rows)))]


def measure(folder: Path, prompts: Path, split: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield a row for every set, greedily and at the default sampling."""
    target = LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    default = json.loads((HERE / "defaults.json").read_text("utf-8"))["sampling"]
    for name in SETS:
        taken = evenly(prompts / f"{name}.jsonl", split, count)
        ids, answers = ([tokenizer(row[part])["input_ids"] for row in taken] for part in ("text", "reference"))
        for kind, sampling in (("greedy", {"temperature": 0.0}), ("default", default)):
            shares = copying(target, ids, answers, sampling)
            yield {"prompts": name, "sampling": kind, "count": len(taken), **shares}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m starter.copying.measure", description=__doc__)
    parser.add_argument("--target", type=Path, default=HERE / "pair" / "target")
    parser.add_argument("--prompts", type=Path, default=HERE / "prompts", help="folder of the prompt sets")
    parser.add_argument("--split", choices=("train", "validation", "test"), default="test")
    parser.add_argument("--count", type=int, default=20, help="prompts of each set (%(default)s)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for row in measure(options.target, options.prompts, options.split, options.count):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

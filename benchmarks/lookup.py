"""Time what one answer of a source that copies takes: to take in a round's tokens, and to copy. Besides, what
transformers' scan of the same text takes.

    ./drafthouse bench lookup [--length 1000] [--rounds 300] [--json FILE]

The text is half copied pieces, half random tokens, so that n-grams of every length match. Each round commits 3 tokens.
Prints median and worst of all rounds at the end of a text of that length. Sources and scan take turns, so a busy
moment hits all alike.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from decoding.source import Copying, Source
from decoding.spec import choose
from decoding.strategies import STRATEGIES
from worker.terminal.values import count_of

COMMITTED = 3
SHORTEST = 10 * (COMMITTED + 1)  # rounds are measured in the last 10 % of a text
VOCAB = 8000


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench lookup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=count_of, default=1000, help=f"tokens of the text, {SHORTEST} or more")
    parser.add_argument("--rounds", type=count_of, default=300)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(argv)
    if asked.length < SHORTEST:
        parser.error(f"--length is {asked.length}: in so short a text no round is measured. Give {SHORTEST} or more.")
    return asked


def text_of(length: int, dice: random.Random) -> list[int]:
    text = [dice.randrange(VOCAB) for _ in range(16)]
    while len(text) < length:
        start = dice.randrange(len(text))
        text += text[start : start + dice.randrange(2, 20)] if dice.random() < 0.2 else [dice.randrange(VOCAB)]
    return text[:length]


Answer = Callable[[Sequence[int], Any], object]  # from the text, as a list and as a tensor


def sources(length: int) -> Iterator[tuple[str, Answer]]:
    for slug, strategy in STRATEGIES.items():
        if strategy.copies_only and not strategy.needs_classifier:
            yield slug, _answer(choose(slug).source())
    yield "transformers", _scan(length)


def _answer(source: Source) -> Answer:
    assert isinstance(source, Copying)

    def answer(text: Sequence[int], ids: Any) -> object:
        source.follow(text)
        return source.copied()

    return answer


def _scan(length: int) -> Answer:
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    generator = PromptLookupCandidateGenerator(max_length=length + 1000)
    return lambda text, ids: generator.get_candidates(ids)


def measure(length: int, rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of each answer, from texts that end within the last 10 % of `length`."""
    import torch

    torch.set_num_threads(1)
    taken: dict[str, list[float]] = {}
    dice = random.Random(0)
    while min(map(len, taken.values()), default=0) < rounds:
        whole = text_of(length, dice)
        each = list(sources(length))
        for _, answer in each:
            answer(whole[: length - length // 10], torch.tensor([whole[: length - length // 10]]))
        for end in range(length - length // 10 + COMMITTED, length, COMMITTED):
            text, ids = whole[:end], torch.tensor([whole[:end]])
            for name, answer in each:
                began = time.perf_counter_ns()
                answer(text, ids)
                taken.setdefault(name, []).append((time.perf_counter_ns() - began) / 1000)
    return {
        name: {"median_us": statistics.median(us), "worst_us": max(us), "answers": len(us)}
        for name, us in taken.items()
    }


def main(argv: Sequence[str] | None = None) -> None:
    asked = arguments(argv)
    found = measure(asked.length, asked.rounds)
    for name, row in found.items():
        print(f"{name:14} median {row['median_us']:8.1f} us   worst {row['worst_us']:8.1f} us")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

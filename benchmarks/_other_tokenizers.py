"""The measurements of `bench other_tokenizers`."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from decoding.events import Recorder, Verified
from decoding.measure.comparison import Comparison
from decoding.measure.schedule import Key
from decoding.models.checkpoints import Loaded, load
from decoding.models.fit import check_pair
from decoding.pair import Pair
from decoding.prompts.prompt import Prompt, decode, read_prompts
from decoding.spec import Choice, Sampling
from tests.decoding.foreign import STARTER, foreign_draft
from worker.pairs import pair_of

OWN = "own tokenizer"
SAMPLINGS = {
    "greedy": Sampling(),
    "T=1, shared dice": Sampling(temperature=1.0),
    "T=1, ratio dice": Sampling(temperature=1.0, dice="ratio"),
}


def ready(target: Loaded, folder: Path, method: str) -> Pair:
    def never_again() -> Pair:
        raise NotImplementedError("this benchmark runs in one process")

    shared = check_pair(target.folder.path, folder).shared
    return pair_of(
        target, load(folder), classifier_at=lambda name: None, again=never_again, shared=shared, method=method
    )


def pairs(folder: Path, counts: Sequence[int]) -> Iterator[tuple[str, Pair]]:
    target = load(STARTER / "target")
    yield OWN, ready(target, STARTER / "draft", "auto")
    for kept in counts:
        draft = foreign_draft(folder / str(kept), kept)
        for method in ("tli", "slem"):
            pair = ready(target, draft, method)
            assert pair.bridge
            yield f"{kept} tokens ({pair.bridge.shared.of_target_text:.1%} of the sample), {method}", pair


def measure(pair: Pair, prompt: Prompt, choice: Choice, sampling: Sampling) -> tuple[int, int, float]:
    """Tokens, passes of the target, and seconds."""
    recorder, start = Recorder(), time.perf_counter()
    found = Comparison(pair, [prompt], [choice], sampling).decode(Key(choice, prompt, 0), recorder)
    seconds = time.perf_counter() - start
    return len(found.tokens), sum(isinstance(event, Verified) for event in recorder.events), seconds


def measure_all(asked: argparse.Namespace, choices: Sequence[Choice]) -> None:
    torch.set_num_threads(1)
    file = STARTER.parent / "prompts" / "code.jsonl"
    read = read_prompts(decode(file.read_bytes(), file.name), file.name)
    prompts = [prompt for prompt in read if prompt.split == "test"][: asked.limit]
    with tempfile.TemporaryDirectory() as folder:
        made = dict(pairs(Path(folder), asked.tokens))
        for choice in choices:
            for title, sampling in SAMPLINGS.items():
                print(f"{choice.label}, {title}", flush=True)
                show(made, prompts, choice, replace(sampling, max_new_tokens=asked.new_tokens))


def show(made: dict[str, Pair], prompts: Sequence[Prompt], choice: Choice, sampling: Sampling) -> None:
    """Decode each prompt with every pair before the next, so that a slow minute hits all alike."""
    found = [{name: measure(pair, prompt, choice, sampling) for name, pair in made.items()} for prompt in prompts]
    for name in made:
        tokens, passes = (sum(each[name][column] for each in found) for column in (0, 1))
        speeds = [{key: count / seconds for key, (count, _, seconds) in each.items()} for each in found]
        ratio = statistics.median(each[name] / each[OWN] for each in speeds)
        print(f"  {name}: {tokens / passes:.2f} tokens per pass, {ratio:.2f} of the speed with its own tokenizer")

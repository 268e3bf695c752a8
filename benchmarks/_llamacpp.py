"""Contestants and turns of `bench llamacpp`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks._llama_server import LlamaServer, llama_server
from benchmarks._llamacpp_models import Weights, prompts, weights
from decoding.contestants.base import Request
from decoding.ending import Ending
from decoding.events import Silence
from decoding.loop import never
from decoding.models.checkpoints import load
from decoding.models.devices import set_threads
from decoding.models.fast.linear import fits_half
from decoding.pair import Pair
from decoding.spec import Choice, Sampling, choose
from worker.pairs import pair_of

LOOKAHEADS = (2, 3, 4, 6)
STREAM = 256 << 20  # bytes that the memory's speed is measured on


@dataclass(frozen=True)
class Contestant:
    name: str
    decode: Callable[[tuple[str, list[int]], int], Sequence[int] | None]  # prompt, count -> tokens if it tells them
    cpu: Callable[[], float]  # seconds of CPU time so far
    size: int  # bytes of weights that it reads for a token


@dataclass(frozen=True)
class Figure:
    contestant: str
    wall: float  # tokens per second
    steady: float  # tokens per second, by which ratios are: of CPU time with one thread, of wall time with several
    size: int  # bytes of weights that it reads for a token
    agrees: bool | None  # with the first contestant's tokens


def measure_all(asked: argparse.Namespace) -> None:
    found = []
    for threads in map(int, asked.threads):
        set_threads(threads)
        stream = memory_speed(threads)
        print(f"\n{threads} threads; memory is read at {stream / 1e9:.1f} GB/s of CPU time per thread")
        for model in asked.models:
            for dtype in asked.dtypes:
                chosen = weights(model, dtype, asked.work)
                figures = race(chosen, threads, asked)
                found += [
                    {"model": model, "dtype": dtype, "threads": threads, "stream": stream, **dataclasses.asdict(figure)}
                    for figure in figures
                ]
                show(f"{model}, {dtype}", figures, stream)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


def memory_speed(threads: int) -> float:
    """Bytes per second at which torch reads memory: the fastest of a sum, a product and a copy, by CPU time."""
    numbers = torch.ones(STREAM // 4096, 1024)
    row, other = torch.ones(1024), torch.empty_like(numbers)
    ways = [(lambda: numbers.sum(), 1), (lambda: torch.mv(numbers, row), 1), (lambda: other.copy_(numbers), 2)]
    return max(times * STREAM / min(_seconds(way) for _ in range(6)) for way, times in ways) * threads


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def race(chosen: Weights, threads: int, asked: argparse.Namespace) -> list[Figure]:
    texts = prompts(chosen.target, asked.prompts)
    with ExitStack() as stack:
        contestants = [*ours(chosen), *theirs(chosen, threads, asked.programs, stack)]
        return timed(contestants, texts, threads, asked.tokens, asked.turns)


def timed(
    contestants: Sequence[Contestant],
    texts: Sequence[tuple[str, list[int]]],
    threads: int,
    count: int,
    turns: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Figure]:
    least: dict[tuple[str, int, int, str], float] = {}
    tokens: dict[tuple[str, int], Sequence[int] | None] = {}
    for turn in range(turns + 1):  # the first one warms up
        for number, text in enumerate(texts):
            begin = (turn + number) % len(contestants)
            for one in (*contestants[begin:], *contestants[:begin]):
                for asked_for in (1, count + 1):
                    cpu, wall = one.cpu(), clock()
                    tokens[one.name, number] = one.decode(text, asked_for)
                    spent = {"wall": clock() - wall, "cpu": one.cpu() - cpu}
                    for kind, seconds in spent.items() if turn else ():
                        key = (one.name, number, asked_for, kind)
                        least[key] = min(seconds, least.get(key, seconds))

    def speed(name: str, kind: str) -> float:
        seconds = sum(least[name, n, count + 1, kind] - least[name, n, 1, kind] for n in range(len(texts)))
        return count * len(texts) / seconds

    first = contestants[0].name
    return [
        Figure(
            one.name,
            speed(one.name, "wall"),
            speed(one.name, "cpu" if threads == 1 else "wall"),  # one that leaves a core idle takes less CPU time
            one.size,
            None
            if tokens[one.name, 0] is None
            else all(list(tokens[one.name, n] or ()) == list(tokens[first, n] or ()) for n in range(len(texts))),
        )
        for one in contestants
    ]


def show(title: str, figures: Sequence[Figure], stream: float) -> None:
    print(f"\n{title}")
    print(f"{'':32} {'tok/s':>8} {'steady':>8} {'GB/s':>6} {'of memory':>9} {'ours / it':>9}  text")
    for figure in figures:
        is_alone = "autoregressive" in figure.contestant
        rate = figure.steady * figure.size
        share = f"{rate / 1e9:6.1f} {rate / stream:9.0%}" if is_alone else " " * 16
        wall = f"{figure.wall:8.1f}" if figure.wall > 0.8 * figure.steady else f"{'busy':>8}"
        same = {None: "", True: "same", False: "differs"}[figure.agrees]
        ratio = "" if figure.contestant.startswith("ours") else f"{_best(figures, is_alone) / figure.steady:.2f}"
        print(f"{figure.contestant:32} {wall} {figure.steady:8.1f} {share} {ratio:>9}  {same}", flush=True)


def _best(figures: Sequence[Figure], alone: bool) -> float:
    own = [f.steady for f in figures if f.contestant.startswith("ours") and alone == ("autoregressive" in f.contestant)]
    return max(own, default=0.0)


# ---- who takes part


def ours(chosen: Weights) -> Iterator[Contestant]:
    target, draft = (folder and load(folder) for folder in (chosen.target, chosen.draft))
    assert target is not None
    pair = pair_of(target, draft, classifier_at=lambda name: None, again=lambda: pair)
    print(f"ours: {target.runner.facts.dtype} rows, weights {target.runner.facts.weights}")
    way, decoder = target.runner.facts.weights, target.runner.decoder  # type: ignore[attr-defined]
    is_narrow = way == "half" or (way == "tiled" and fits_half(decoder.embedding))
    size = target.folder.parameters * (2 if is_narrow else 4)
    choices = [choose("autoregressive")]
    if draft:
        choices += [choose("static", {"lookahead": lookahead}) for lookahead in LOOKAHEADS]
    for choice in choices:
        yield Contestant(f"ours, {choice.label}", _decoder(pair, choice), time.process_time, size)


def _decoder(pair: Pair, choice: Choice) -> Callable[[tuple[str, list[int]], int], Sequence[int]]:
    contestant = pair.contestant(choice)

    def decode(text: tuple[str, list[int]], count: int) -> Sequence[int]:
        sampling = Sampling(max_new_tokens=count, ignore_eos=True)
        request = Request(choice, text[1], sampling, 0, Ending(frozenset()))
        [(_, decoded)] = contestant.run([request], lambda _: Silence(), never)
        return decoded.tokens  # type: ignore[union-attr]  # BrokenModel has none

    return decode


def theirs(chosen: Weights, threads: int, programs: Path, stack: ExitStack) -> Iterator[Contestant]:
    logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    size = chosen.target_gguf.stat().st_size  # of which all but the tokenizer are matrices that a pass reads
    shared = ("-t", str(threads), "-tb", str(threads), "-c", "1024")

    def server(name: str, *options: str) -> Contestant:
        started = stack.enter_context(
            llama_server(programs / "llama-server", chosen.target_gguf, logs / "log", *shared, *options)
        )
        return Contestant(name, _asked(started), lambda: started.cpu_seconds, size)

    yield server("llama-server, autoregressive")
    if chosen.draft_gguf is None:
        return
    for lookahead in LOOKAHEADS:
        drafts = ("-md", str(chosen.draft_gguf), *drafting(lookahead))
        yield server(f"llama-server, -md, {lookahead} tokens", *drafts, "-td", str(threads))
    for lookahead in LOOKAHEADS:
        command = [programs / "llama-speculative-simple", "-m", chosen.target_gguf, "-md", chosen.draft_gguf]
        options = [*shared, *drafting(lookahead), "--temp", "0", "--ignore-eos"]
        yield Contestant(
            f"speculative-simple, {lookahead} tokens", _ran([*map(str, command), *options]), _cpu_of_children, size
        )


def drafting(lookahead: int) -> tuple[str, ...]:
    """Options for drafts of so many tokens. Without a type, a server loads its draft and does not use it."""
    return ("--spec-type", "draft-simple", "--spec-draft-n-max", str(lookahead))


def _asked(server: LlamaServer) -> Callable[[tuple[str, list[int]], int], Sequence[int]]:
    def decode(text: tuple[str, list[int]], count: int) -> Sequence[int]:
        answer = server.complete(text[1], count)
        assert answer["tokens_predicted"] == count
        return list(answer["tokens"])

    return decode


def _ran(command: Sequence[str]) -> Callable[[tuple[str, list[int]], int], None]:
    def decode(text: tuple[str, list[int]], count: int) -> None:
        subprocess.run([*command, "-p", text[0], "-n", str(count)], capture_output=True, check=True)

    return decode


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

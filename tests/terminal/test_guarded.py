"""A command under a limit: it ends with a sentence, and leaves nothing half written, however it is ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.models import LLAMA, save
from worker.memory import HEADROOM

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # s; the machine may be busy


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    prompts = [{"text": f"w{n % 90 + 1} w3"} for n in range(5000)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return folder


@contextmanager
def comparing(box: Path, *more: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    command = ["-m", "worker.terminal.compare", "--target", box / "target", "--draft", box / "draft"]
    with subprocess.Popen(
        [sys.executable, *map(str, command), "--prompts", str(box / "prompts.jsonl"), "--max-new-tokens", "32", *more],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_removes_what_is_half_written(
    box: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with comparing(box, "--json", str(tmp_path / "o.json"), "--trace", str(tmp_path / "o.trace")) as process:
        assert process.stderr
        until_said(process, "Warming up")
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_takes_too_much_memory_is_refused_in_a_sentence(box: Path, tmp_path: Path) -> None:
    with comparing(box, "--json", str(tmp_path / "o.json"), **{HEADROOM: "0.2"}) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (sentence,) = said.strip().splitlines()
    assert sentence.startswith("The command took more than 0.") and f"a larger {HEADROOM} (0.2 now)." in sentence
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_command_keeps_what_is_done(box: Path, tmp_path: Path) -> None:
    with comparing(box, "--json", str(tmp_path / "o.json")) as process:
        until_said(process, "samples")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads((tmp_path / "o.json").read_text())["complete"] is False
    assert "autoregressive" in out


def until_said(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr
    said = ""
    while words not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], f"waited in vain for {words!r}, and heard {said}"
        piece = os.read(process.stderr.fileno(), 4096).decode()
        assert piece, f"it ended before it said {words!r}: {said}"
        said += piece

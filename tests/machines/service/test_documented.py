"""Commands with which the documentation asks a lab run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit import make
from tests.kit.live import address, layer, valkey  # noqa: F401
from tests.kit.teams import World

ROOT = Path(__file__).parents[3]
TOKEN = "a token for Prometheus"
ASK = re.compile("http://(lab|localhost):8000")


def lines_that_ask() -> list[str]:
    pages = [path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]
    blocks = [block for page in pages for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if ASK.search(line)]


@pytest.mark.curl
@pytest.mark.django_db(transaction=True)
def test_commands_that_ask_a_lab_are_answered(world: World, address: str, tmp_path: Path, settings: Any) -> None:  # noqa: F811
    by, settings.METRICS_TOKEN = world.actor(world.alice), TOKEN
    make.pair(by, name="Starter"), make.dataset(by, name="Starter code")
    for name, there in (("drafthouse", ROOT / "drafthouse"), (".venv", Path(sys.prefix))):
        (tmp_path / name).symlink_to(there)
    (model := tmp_path / "path/to/target").mkdir(parents=True)
    for name, content in make.checkpoint().items():
        (model / name).write_bytes(content)
    world.script("submit")
    env = {**os.environ, "DRAFTHOUSE_TOKEN": world.tokens["submit"], "DRAFTHOUSE_METRICS_TOKEN": TOKEN}
    answers: list[str] = []
    made = ""  # the id that the next command names
    for line in lines_that_ask():
        line = re.sub(r"\bID\b", made, ASK.sub(address, line))
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        answers.append(done.stdout)
        if " send " in line or " POST " in line:
            made = answers[-1].strip() if " send " in line else json.loads(answers[-1])["id"]
    assert any("drafthouse_database_up 1" in answer for answer in answers)
    assert (tmp_path / "rounds.csv").read_text().startswith("strategy,")

"""What import-linter cannot see: a package's own __init__, and imports that happen by name while a program runs."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ["torch", "numpy", "transformers", "tokenizers", "safetensors", "arro3"]


def light_modules() -> list[str]:
    """The modules of decoding that the web may see: the list is the contract's."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    return next(c["source_modules"] for c in contracts if c["name"].startswith("what the web may see"))


def loaded_after_importing(modules: list[str], data: Path) -> set[str]:
    code = f"import sys, json, {', '.join(modules)}; print(json.dumps([name.split('.')[0] for name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "DRAFTHOUSE_DATA": str(data)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", light_modules())
def test_what_the_web_may_see_of_decoding_loads_nothing_heavy(module: str, tmp_path: Path) -> None:
    assert not loaded_after_importing([module], tmp_path) & {*HEAVY, "django", "webapp", "worker"}


def test_the_web_process_loads_no_model_code(tmp_path: Path) -> None:
    entry = ["webapp.config.asgi", "webapp.config.urls"]  # Django itself reads the addresses with the first request
    slow = "boto3"  # whoever has no bucket does not wait for it
    assert not loaded_after_importing(entry, tmp_path) & {*HEAVY, slow, "worker"}

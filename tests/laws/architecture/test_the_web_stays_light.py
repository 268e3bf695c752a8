"""Imports that import-linter cannot see: a package's own __init__, and imports by name while a program runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
HEAVY = ["torch", "numpy", "transformers", "tokenizers", "safetensors", "arro3"]


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


def test_the_door_into_decoding_loads_nothing_heavy(tmp_path: Path) -> None:
    assert not loaded_after_importing(["decoding.public"], tmp_path) & {*HEAVY, "jinja2", "django", "webapp", "worker"}


def test_the_web_process_loads_no_model_code(tmp_path: Path) -> None:
    entry = ["webapp.config.asgi", "webapp.config.urls"]  # Django itself reads the URLs with the first request
    slow = "boto3"  # processes without a bucket do not wait for it
    assert not loaded_after_importing(entry, tmp_path) & {*HEAVY, slow, "worker"}

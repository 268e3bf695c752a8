"""Imports that import-linter cannot see: a package's own __init__, and imports by name while a program runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
HEAVY = {"torch", "numpy", "transformers", "tokenizers", "safetensors", "arro3"}
ORDERS = """
from worker.messages import Order

def below(order):
    return [found for sub in order.__subclasses__() for found in (sub, *below(sub))]

modules = sorted({order.__module__ for order in below(Order)})
"""


def after(code: str, data: Path, shown: str = "[name.split('.')[0] for name in sys.modules]") -> set[str]:
    """Return what a process shows that has run this code: the packages that it has loaded."""
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(data), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    told = subprocess.check_output(
        [sys.executable, "-c", f"import json, sys\n{code}\nprint(json.dumps({shown}))"],
        cwd=ROOT,
        env=environment,
        text=True,
    )
    return set(json.loads(told))


def test_the_door_into_decoding_loads_nothing_heavy(tmp_path: Path) -> None:
    assert not after("import decoding.public", tmp_path) & {*HEAVY, "jinja2", "django", "webapp", "worker"}


def test_the_web_process_loads_no_model_code(tmp_path: Path) -> None:
    entry = "import webapp.config.asgi, webapp.config.urls"  # Django itself reads the URLs with the first request
    slow = "boto3"  # processes without a bucket do not wait for it
    assert not after(entry, tmp_path) & {*HEAVY, slow, "worker"}


def test_a_worker_loads_no_torch_for_its_kinds_of_jobs_and_the_engine_no_django(tmp_path: Path) -> None:
    kinds = "import django; django.setup()\nfrom worker.jobs import works\nworks()\n"
    assert not after(kinds, tmp_path) & {"torch", "transformers", "numpy"}
    modules = after(kinds + ORDERS, tmp_path, "modules")
    assert {"worker.jobs.comparison", "worker.jobs.check_model"} <= modules
    engine = (
        f"import worker.engine.serving, worker.engine.studying, {', '.join(modules)}, worker.jobs.comparison.comparing"
    )
    loaded = after(engine, tmp_path)
    assert "torch" in loaded and "django" not in loaded

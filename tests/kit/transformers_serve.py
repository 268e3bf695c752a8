"""`transformers serve`, a program that tests start where it is at hand."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

VARIABLE = "DRAFTHOUSE_TRANSFORMERS"


def program() -> str:
    """Find `transformers` with the packages of transformers[serving]."""
    found = os.environ.get(VARIABLE) or (find_spec("fastapi") and shutil.which("transformers"))
    if not found:
        pytest.skip(f"no transformers serve: install transformers[serving], or set {VARIABLE} to its program")
    return found

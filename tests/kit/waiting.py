"""Refusal of waits for a GPU: launches within must not stop this thread."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def set_mode(mode: str) -> None:
    if torch.cuda.is_available():
        torch.cuda.set_sync_debug_mode(mode)


@contextmanager
def refusing_waits() -> Iterator[None]:
    """Fail at the first wait within. Torch's own warning about the mode must not fail the test, nor may the mode stay
    for the next one."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
            set_mode("error")
        yield
    finally:
        set_mode("default")

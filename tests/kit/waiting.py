"""Refusal of waits for a GPU: launches within must not stop this thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

SetMode = Callable[[str], object]

SET_MODE: SetMode = torch.cuda.set_sync_debug_mode if torch.cuda.is_available() else lambda mode: None


@contextmanager
def refusing_waits(set_mode: SetMode = SET_MODE) -> Iterator[None]:
    """Fail at the first wait within. Torch's own warning about the mode must not fail the test, nor may the mode stay
    for the next one."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
            set_mode("error")
        yield
    finally:
        set_mode("default")

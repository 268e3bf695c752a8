"""What every test stands on. It must not import torch: tests of the web never need it."""

import os

import pytest

# Read by torch when it is first imported, here or in a command that a test starts: with its default, one thread per
# core, small tensors and parallel tests get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")

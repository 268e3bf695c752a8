"""Tiny models on one thread: other work shares the machine, and results must not depend on how many cores it has."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)

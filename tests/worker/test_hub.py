"""Fetching from the hub, where the hub is a socket of this machine: it can be cancelled, and failing is told."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from worker import hub
from worker.database import Stopped


@pytest.fixture
def listening(monkeypatch):
    """A hub that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        line.setblocking(False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{line.getsockname()[1]}")
        yield line


def test_a_download_that_hangs_is_cancelled_and_leaves_nothing(listening, tmp_path: Path):
    callers = []

    def until_called() -> bool:
        try:
            callers.append(listening.accept()[0])
        except BlockingIOError:
            return not callers
        return False

    with pytest.raises(Stopped):
        hub.fetched("some/model", "", tmp_path, until_called)
    callers[0].close()
    assert list(tmp_path.iterdir()) == []


def test_a_hub_that_is_not_there_is_told_in_words(listening, tmp_path: Path):
    listening.close()
    with pytest.raises(hub.Unreachable, match="some/model could not be fetched from the hub"):
        hub.fetched("some/model", "", tmp_path, lambda: True)
    assert list(tmp_path.iterdir()) == []

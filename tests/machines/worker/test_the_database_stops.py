"""The database server is stopped in the middle of a comparison, and started again."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.kit.postgres import Server
from tests.kit.processes import until
from webapp.comparisons.models import Sample

HOME = os.environ.get("DRAFTHOUSE_TEST_POSTGRES")
pytestmark = pytest.mark.skipif(HOME is None, reason="needs a server of its own: test_on_postgres.py runs it on one")


def test_the_worker_goes_on_where_it_was(launch, make_worker, engine, caplog):
    """The engine decodes on meanwhile. What it says waits, and the attempt is the same."""
    comparison = launch(texts=6, tokens=48)
    server = Server(Path(HOME))

    def start_again() -> None:
        until(lambda: "what the engine says waits" in caplog.text, "the worker to notice")
        server.start()

    other = threading.Thread(target=start_again)

    def stop() -> None:
        server.stop()
        other.start()
        engine.go_on()

    engine.after(2, stop)
    make_worker().look()
    other.join()
    comparison.job.refresh_from_db()
    assert (comparison.job.state, comparison.job.attempt) == ("succeeded", 1), comparison.job.reason
    assert Sample.objects.finished().count() == Sample.objects.count() == 18
    assert all(sample.numbers["audit"]["outcome"] == "identical" for sample in Sample.objects.all())

"""Fetching from the hub, where the hub is a server of this machine: it can be cancelled, and failing is told."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings

from decoding.errors import BadCheckpoint
from tests.worker.conftest import prompts
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, JobEvent
from webapp.registry import services as registry
from webapp.registry.models import LanguageModel
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE
from worker import gauges, hub, materials
from worker.database import Stopped
from worker.disk import NotNow
from worker.hub import HubModel

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def listening(monkeypatch) -> Iterator[socket.socket]:
    """A hub that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as line:
        line.setblocking(False)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{line.getsockname()[1]}")
        yield line


class Hub(ThreadingHTTPServer):
    """A hub with one model, which counts how often each of its files is asked for."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = files
        self.given: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith("/api/models/some/model/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in self.server.files.items()
            ]
            self._say(json.dumps(tree).encode(), "application/json")
        elif path.startswith("/api/models/some/model"):
            files = [{"rfilename": name, "size": len(data)} for name, data in self.server.files.items()]
            self._say(json.dumps({"id": "some/model", "sha": COMMIT, "siblings": files}).encode(), "application/json")
        elif path.startswith(f"/some/model/resolve/{COMMIT}/"):
            name = path.rpartition("/")[2]
            if self.command == "GET":
                self.server.given.append(name)
            self._say(self.server.files[name], "application/octet-stream")
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _say(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def answering(monkeypatch, checkpoints) -> Iterator[Hub]:
    with Hub({**checkpoints["draft"], "README.md": b"not wanted", "pytorch_model.bin": b"never"}) as there:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{there.server_port}")
        yield there
        there.shutdown()


class UntilCalled:
    """May go on until somebody has called."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.callers: list[socket.socket] = []

    def __call__(self) -> bool:
        try:
            self.callers.append(self._line.accept()[0])
        except BlockingIOError:
            return not self.callers
        return False


def test_a_download_that_hangs_is_cancelled(listening, tmp_path: Path):
    until_called = UntilCalled(listening)
    with pytest.raises(Stopped):
        hub.fetch(HubModel("some/model", COMMIT), tmp_path, until_called)
    until_called.callers[0].close()


def test_a_download_that_somebody_kills_is_tried_again_later(listening, tmp_path: Path):
    until_called, killed = UntilCalled(listening), []

    def kill_once_called() -> bool:
        if not until_called() and not killed:  # it may take a while to end
            killed[:] = [pid for pid in gauges.family(os.getpid()) if b"worker.fetching" in words(pid)]
            (fetching,) = killed
            os.kill(fetching, signal.SIGKILL)
        return True

    with pytest.raises(NotNow, match="was ended by SIGKILL"):
        hub.fetch(HubModel("some/model", COMMIT), tmp_path, kill_once_called)
    until_called.callers[0].close()


def words(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_hub_that_is_not_there_is_told_in_words(listening, tmp_path: Path):
    listening.close()
    with pytest.raises(hub.Unreachable, match="some/model could not be fetched from the hub"):
        hub.fetch(HubModel("some/model", COMMIT), tmp_path, lambda: True)


def test_a_model_that_the_hub_does_not_have_is_told_in_words(answering):
    with pytest.raises(BadCheckpoint, match="The hub gives no another/model"):
        hub.pinned(HubModel("another/model", ""), lambda: True)


def test_a_model_is_fetched_once_at_one_commit_and_its_size_is_told(answering, checkpoints, team, make_worker):
    model = registry.add_hub_model(name="far", hub_id="some/model", revision="", by=team)
    hands = make_worker(queue="light")
    hands.look()
    model.refresh_from_db()
    assert model.state == "ready", model.reason
    assert model.facts["commit"] == COMMIT
    assert sorted(answering.given) == sorted(checkpoints["draft"])
    (one,) = materials.cached()
    assert one["bytes"] == sum(map(len, checkpoints["draft"].values()))
    assert one["name"] == HubModel("some/model", COMMIT).folder_name
    assert one["teams"] == [str(team.home.pk)]
    assert "Fetching some/model at 0123456789ab from the hub." in JobEvent.objects.values_list("sentence", flat=True)

    registry.add_hub_model(name="again", hub_id="some/model", revision=COMMIT, by=team)
    hands.look()
    assert list(LanguageModel.objects.values_list("state", flat=True)) == ["ready", "ready"]
    assert len(answering.given) == len(checkpoints["draft"])


@pytest.mark.parametrize("kind", ["comparison", "training", "study"])
def test_every_job_can_be_cancelled_while_its_model_is_being_fetched(
    kind, listening, launch, pair, team, make_worker, monkeypatch
):
    """The hub has taken the call and says nothing."""
    LanguageModel.objects.filter(pk=pair.draft.pk).update(
        source="hub", upload=None, location="some/model", revision=COMMIT
    )
    if kind == "comparison":
        launch()
    elif kind == "training":
        classifying.train_classifier(name="one", pair=pair, dataset=prompts(team, ["w1 w2"] * 9), by=team)
    else:
        studies.launch(kind=ORACLE, pair=pair, dataset=prompts(team, ["w1 w2"]), by=team)
    listening.setblocking(True)

    def cancel() -> None:
        caller, _ = listening.accept()
        with caller:
            jobs.cancel(job=Job.objects.get(), by=team)
            assert caller.recv(1 << 20)  # what it asked
            while caller.recv(1 << 20):  # until the one who asked is ended
                pass

    other = threading.Thread(target=cancel)
    other.start()
    make_worker().look()
    other.join()
    assert Job.objects.get().state == "cancelled"
    assert not any(
        "hub-" in path.name or "growing" in path.name for path in (Path(settings.DATA_DIR) / "models").iterdir()
    )

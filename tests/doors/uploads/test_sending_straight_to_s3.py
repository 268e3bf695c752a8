"""With a bucket, browsers send chunks there straight: what arrives is looked at before it counts."""

from __future__ import annotations

from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from tests.kit.uploads import manifest, sha
from webapp.uploads import services, store
from webapp.uploads.models import Chunk

WEIGHTS = b"some weights"


@pytest.fixture
def begun(world, bucket):
    return world.api(world.bob).post("/api/v1/uploads/", manifest(a_bin=WEIGHTS)).json()


def ask(world, begun, user=None, content: bytes = WEIGHTS):
    return world.api(user or world.bob).post(f"/api/v1/uploads/{begun['id']}/chunks/{sha(content)}/")


def send(url: str, content: bytes) -> int:
    """As a browser does, which has nothing but the address."""
    parts = urlsplit(url)
    line = HTTPConnection(parts.netloc, timeout=10)
    line.request("PUT", f"{parts.path}?{parts.query}", content)
    status = line.getresponse().status
    line.close()
    return status


def keys(bucket) -> list[str]:
    return [one.key.split("/")[0] for one in bucket.objects.all()]


@pytest.mark.smoke
def test_a_chunk_goes_to_the_bucket_and_counts_once_it_is_asked_for_again(world, begun, bucket):
    assert begun["is_direct"] is True
    offered = ask(world, begun).json()
    assert offered["is_here"] is False
    assert send(offered["url"], WEIGHTS) == 200
    assert keys(bucket) == ["incoming"] and not Chunk.objects.exists()
    assert ask(world, begun).json() == {"is_here": True, "url": ""}
    assert keys(bucket) == ["chunks"]
    assert world.api(world.bob).post(f"/api/v1/uploads/{begun['id']}/complete/").json()["state"] == "complete"
    assert store.current().read(world.team.pk, sha(WEIGHTS), 5, 7) == b"weights"


def test_what_is_not_what_its_name_says_is_thrown_away_and_may_be_sent_again(world, begun, bucket):
    send(ask(world, begun).json()["url"], b"another one!")
    told = ask(world, begun)
    assert (told.status_code, told.json()["code"]) == (400, "chunk-mismatch")
    assert keys(bucket) == [] and not Chunk.objects.exists()
    send(ask(world, begun).json()["url"], WEIGHTS)
    assert ask(world, begun).json()["is_here"] is True


def test_an_address_is_for_one_chunk_of_ones_own_team(world, begun, bucket):
    url = ask(world, begun).json()["url"]
    assert urlsplit(url).path == f"/{bucket.name}/incoming/{world.team.pk}/{sha(WEIGHTS)}"
    assert "X-Amz-Signature=" in url and "content-length" in url
    assert ask(world, begun, world.charlie).status_code == 404
    assert ask(world, begun, world.victor).status_code == 403
    assert ask(world, begun, content=b"never listed").status_code == 404


def test_what_nobody_asked_for_again_is_swept_after_a_day(world, begun, bucket, monkeypatch):
    send(ask(world, begun).json()["url"], WEIGHTS)
    services.sweep()
    assert keys(bucket) == ["incoming"]
    tomorrow = timezone.now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr(timezone, "now", lambda: tomorrow)
    services.sweep()
    assert keys(bucket) == []

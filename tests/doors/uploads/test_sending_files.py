"""Manifest, missing, put, complete: resumed without sending a byte twice, and nothing left behind. With a bucket,
browsers send chunks there straight: what arrives is looked at before it counts."""

from __future__ import annotations

import resource
from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.utils import timezone

from tests.kit import make
from tests.kit.uploads import CHUNK, manifest, sha
from webapp.uploads import services, store
from webapp.uploads.models import Chunk, Upload, UploadedFile
from webapp.uploads.reading import FileReader, whole

in_both_stores = pytest.mark.usefixtures("storage")


def put(client, upload_id, content: bytes, name: str | None = None):
    return client.put(
        f"/api/v1/uploads/{upload_id}/chunks/{name or sha(content)}/", content, content_type="application/octet-stream"
    )


@in_both_stores
def test_a_folder_is_sent_interrupted_and_resumed(world):
    big = bytes(CHUNK) + b"tail"
    client = world.script("submit")
    body = manifest(model_safetensors=big, config_json=b"{}")
    made = client.post("/api/v1/uploads/", body).json()
    assert len(made["missing"]) == 3 and made["chunk_bytes"] == CHUNK
    assert put(client, made["id"], bytes(CHUNK)).status_code == 204

    resumed = world.script("submit").get(f"/api/v1/uploads/{made['id']}/").json()  # a new program, days later
    assert resumed["missing"] == [sha(b"{}"), sha(b"tail")]
    early = client.post(f"/api/v1/uploads/{made['id']}/complete/")
    assert (early.status_code, early.json()["code"]) == (409, "chunks-missing")
    for content in (b"tail", b"{}"):
        put(client, made["id"], content)
    assert (
        put(client, made["id"], b"stray").status_code == put(client, made["id"], b"x", "..%2f..%2fx").status_code == 404
    )
    done = client.post(f"/api/v1/uploads/{made['id']}/complete/").json()
    assert (done["state"], done["missing"]) == ("complete", [])
    assert put(client, made["id"], b"{}").status_code == 409
    file = UploadedFile.objects.get(path="model.safetensors")
    reader = FileReader(file, world.team.pk)
    assert reader.read() == big
    reader.seek(CHUNK - 2)
    assert reader.read(4) == b"\0\0ta"


def test_what_the_team_has_is_not_asked_for_again_but_another_teams_is(world):
    first = world.api(world.alice).post("/api/v1/uploads/", manifest(a_json=b"{}")).json()
    put(world.api(world.alice), first["id"], b"{}")
    assert world.api(world.bob).post("/api/v1/uploads/", manifest(b_json=b"{}")).json()["missing"] == []
    assert world.api(world.charlie).post("/api/v1/uploads/", manifest(c_json=b"{}")).json()["missing"] == [sha(b"{}")]


@pytest.mark.parametrize("sent", [b"ot", b"{}x"])
def test_a_chunk_that_is_not_what_its_name_says_leaves_nothing(world, stored, sent):
    made = world.api(world.bob).post("/api/v1/uploads/", manifest(a_json=b"{}")).json()
    answer = put(world.api(world.bob), made["id"], sent, sha(b"{}"))
    assert (answer.status_code, answer.json()["code"]) == (400, "chunk-mismatch")
    assert stored() == [] and not Chunk.objects.exists()


def test_tricks_with_file_names_are_refused(world):
    odd = ("../x", "/etc/passwd", "a//b", "C:\\x", "a\0b", "", " a", "con.", "a/" * 9 + "b", "x" * 256)
    for path in odd:
        body = {"name": "x", "files": [{"path": path, "size": 2, "chunks": [sha(b"{}")]}]}
        assert world.api(world.bob).post("/api/v1/uploads/", body).status_code == 400
    assert not Upload.objects.exists()
    body["files"][0]["path"] = "a/" * 7 + "b"  # the deepest
    assert world.api(world.bob).post("/api/v1/uploads/", body).status_code == 201


def test_a_manifest_that_does_not_add_up_or_exceeds_the_quota_is_refused_before_a_byte_is_sent(world, settings):
    for file in (
        {"path": "a", "size": 2, "chunks": []},
        {"path": "a", "size": 2, "chunks": ["xyz"]},
        {"path": "a", "size": CHUNK + 1, "chunks": ["0" * 64, "0" * 64]},
        {"path": "A.json", "size": 0, "chunks": []},
    ):
        files = [{"path": "a.json", "size": 0, "chunks": []}, file]
        answer = world.api(world.bob).post("/api/v1/uploads/", {"name": "x", "files": files})
        assert (answer.status_code, answer.json()["field"].startswith("files")) == (400, True)
    settings.TEAM_QUOTA_BYTES = 10
    answer = world.api(world.bob).post("/api/v1/uploads/", manifest(a_json=b"x" * 11))
    assert (answer.status_code, answer.json()["code"]) == (413, "quota-exceeded")


def test_the_sweep_removes_what_nobody_uses_and_only_that(world, stored):
    kept = services.keep(team=world.team, name="new", files=[("a.txt", b"kept")], by=world.actor(world.bob))
    old = services.keep(team=world.team, name="old", files=[("b.txt", b"old"), ("c.txt", b"kept")],
                        by=world.actor(world.bob))  # fmt: skip
    Upload.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(days=8))
    Chunk.objects.update(created=timezone.now() - timedelta(days=8))
    assert services.sweep() == (1, 1)
    assert stored() == [sha(b"kept")]
    assert services.missing(kept) == []


def test_what_is_kept_again_while_the_sweep_is_at_work_stays(world, by, stored):
    """Between finding that nobody uses a chunk and deleting it, somebody may send the same content."""
    services.keep(team=world.team, name="old", files=[("a.txt", b"the same")], by=by)
    Upload.objects.update(created=timezone.now() - timedelta(days=8))
    Chunk.objects.update(created=timezone.now() - timedelta(days=8))

    def send_first(execute, sql, params, many, context):
        if sql.startswith('DELETE FROM "uploads_chunk"') and not Upload.objects.exists():
            services.keep(team=world.team, name="new", files=[("b.txt", b"the same")], by=by)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(send_first):
        assert services.sweep() == (1, 0)
    kept = UploadedFile.objects.get(path="b.txt")
    assert stored() == [chunk.sha256 for chunk in Chunk.objects.all()] == kept.chunks
    assert whole(kept, world.team.pk, longest=100) == b"the same"


@in_both_stores
def test_memory_stays_flat_while_chunks_are_taken_in(world):
    contents = [bytes([number]) * CHUNK for number in range(6)]
    made = world.api(world.bob).post("/api/v1/uploads/", manifest(big_bin=b"".join(contents))).json()
    client = world.api(world.bob)
    put(client, made["id"], contents[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for content in contents[1:]:
        put(client, made["id"], content)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20 * 1024  # KiB: less than three chunks, though five came


def test_the_page_of_uploads_deletes_what_nothing_was_made_of_and_forms_offer_only_what_fits(world, by):
    client = world.page(world.bob)
    make.model(by)
    free = make.upload(by, make.checkpoint(), name="a model")
    make.upload(by, {"p.csv": b"text\none"}, name="some prompts")
    make.upload(by, {"weights.bin": b"\x80\x04"}, name="a pickle")
    make.upload(by, make.card(), name="a classifier")

    def offered(path):
        names = ("a model", "some prompts", "a pickle", "a classifier")
        page = client.get(path).content.decode()
        return [name for name in names if f">{name}, " in page], page.count(">files, ")

    assert offered("/models/new/") == (["a model"], 0)
    assert offered("/datasets/new/") == (["some prompts"], 0)
    assert offered("/classifiers/new/") == (["a classifier"], 0)
    assert client.get("/uploads/").content.decode().count("in use") == 1
    client.post(f"/uploads/{free.pk}/discard/")
    assert not Upload.objects.filter(pk=free.pk).exists() and Upload.objects.count() == 4


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

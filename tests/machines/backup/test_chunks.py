"""Pieces of uploads in a backup: from a bucket only when asked, and never one that a sweep has taken."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.utils import timezone

from tests.kit import make
from tests.kit.stores import s3_server  # noqa: F401  a fixture
from tests.machines.backup.lab import Lab
from webapp.backup import saving
from webapp.backup.archive import Archive
from webapp.uploads import services as uploads
from webapp.uploads.models import Chunk, Upload


def test_chunks_stay_in_their_bucket_unless_asked_for(
    lab: Lab,
    backup: Path,
    tmp_path: Path,
    s3_server: str,  # noqa: F811
) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "drafthouse", "AWS_SECRET_ACCESS_KEY": "for tests"}
    lower = {name.lower(): value for name, value in keys.items()}
    boto3.resource("s3", endpoint_url=s3_server, region_name="us-east-1", **lower).Bucket("backup-tests").create()
    more = keys | {"DRAFTHOUSE_S3_BUCKET": "backup-tests", "DRAFTHOUSE_S3_ENDPOINT": s3_server}
    there = Lab(tmp_path / "there", more=more)
    there.do("restore", backup)
    assert not there.chunks()
    assert "not in the backup: they are in s3 backup-tests" in there.do("backup", tmp_path / "rows.tar")
    there.do("backup", tmp_path / "all.tar", "--with-bucket")
    with (tmp_path / "all.tar").open("rb") as file:
        held = Archive(file)
        names = [name for name in held.members if name.startswith("chunks/")]
        found = {name.rpartition("/")[2]: held.chunk(*name.split("/")[1:]).read() for name in names}
    assert found == {name.rpartition("/")[2]: content for name, content in lab.chunks().items()}

    there.more["DRAFTHOUSE_S3_ENDPOINT"] = "http://127.0.0.1:1"
    code, said = there.run("backup", tmp_path / "away.tar", "--with-bucket")
    assert code == 1 and "cannot be read from the bucket" in said and not (tmp_path / "away.tar").exists()


class Interrupted(io.BytesIO):
    """A file in whose first chunk somebody throws the upload away and the hourly sweep comes by."""

    def write(self, content: Any) -> int:
        if Upload.objects.filter(name="fleeting").exists() and self.tell() >= 2048:  # the head and a chunk
            Upload.objects.filter(name="fleeting").delete()
            uploads.sweep()
        return super().write(content)


@pytest.mark.django_db(transaction=True)
def test_a_sweep_in_the_middle_leaves_a_backup_that_names_only_what_it_has(world: Any) -> None:
    by = world.actor(world.alice)
    make.upload(by, {"a": b"stays"})
    make.upload(by, {"b": b"goes"}, name="fleeting")
    Chunk.objects.update(created=timezone.now() - timedelta(days=2))
    out = Interrupted()
    manifest = saving.write(out, with_bucket=False, tell=print)
    assert len(manifest.chunks) == manifest.tables["uploads.chunk"]["rows"] == 1
    assert not manifest.missing
    Archive(out).verify()

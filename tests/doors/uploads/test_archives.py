"""Archives from strangers: unpacked by a worker, safely, or refused with the reason at the upload."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from contextlib import suppress

import pytest

from tests.kit.uploads import sent
from webapp.core.problems import Invalid
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from worker.attempt import Attempt
from worker.database import Stopped
from worker.jobs.unpack import work
from worker.pulse import Hold


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(*infos: tuple[tarfile.TarInfo, bytes], mode="w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for info, content in infos:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


ONE = zipped(("p.txt", b"one"))


@pytest.fixture
def unpack(world):
    """Send it, and have it unpacked as a worker does: which files are in it, how long; or the reason why not."""

    def unpack_one(name: str, content: bytes) -> dict[str, int]:
        upload = sent(world.actor(world.bob), name, content)
        job = jobs.claim(worker="w1", queues=["light"])
        with suppress(Invalid):
            work(Attempt(Hold(job), engine=None))
        upload.refresh_from_db()
        if upload.state == "refused":
            raise Refused(upload.reason)
        assert upload.state == "complete"
        return dict(upload.files.values_list("path", "size"))

    return unpack_one


class Refused(Exception):
    pass


def test_an_upload_is_used_only_once_it_is_unpacked_and_a_refused_one_tells_why_and_stays_refused(world, unpack):
    upload, client = sent(world.actor(world.bob), "p.zip", ONE), world.api(world.bob)
    again = client.post(f"/api/v1/uploads/{upload.pk}/complete/")
    assert (again.status_code, again.json()["state"]) == (202, "unpacking")
    assert again["Location"].endswith(f"/api/v1/uploads/{upload.pk}/")
    assert Job.objects.filter(kind="unpack").count() == 1
    early = client.post("/api/v1/datasets/", {"name": "x", "upload": str(upload.pk)})
    assert (early.status_code, early.json()["code"]) == (409, "upload-is-unpacking")
    assert client.delete(f"/api/v1/uploads/{upload.pk}/").status_code == 204
    with pytest.raises(Refused):
        unpack("x.zip", b"PK\x03\x04 torn")
    (row,) = client.get("/api/v1/uploads/").json()["results"]
    assert row["state"] == "refused" and "x.zip cannot be unpacked" in row["reason"]
    assert client.post(f"/api/v1/uploads/{row['id']}/complete/").json()["code"] == "upload-is-refused"
    assert client.post("/api/v1/models/", {"name": "x", "upload": row["id"]}).json()["code"] == "upload-is-refused"


def test_unpacking_is_put_down_when_it_is_cancelled_and_can_be_asked_for_again_or_thrown_away(world):
    upload, client = sent(world.actor(world.bob), "p.zip", ONE), world.api(world.bob)
    with pytest.raises(Stopped):
        work(Attempt(Hold(jobs.claim(worker="w1", queues=["light"]), is_cancelled=True), engine=None))
    upload.refresh_from_db()
    assert upload.state == "unpacking"
    Job.objects.update(state="queued", lease_until=None)
    jobs.cancel(job=Job.objects.get(), by=world.actor(world.bob))
    assert "Cancelled by bob" in client.get(f"/api/v1/uploads/{upload.pk}/").json()["reason"]
    assert client.post(f"/api/v1/uploads/{upload.pk}/complete/").json()["reason"] == ""
    assert client.delete(f"/api/v1/uploads/{upload.pk}/").status_code == 204
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}


def test_a_zip_and_a_tar_take_the_place_of_their_files_whatever_their_directory_says(unpack):
    assert unpack("m.zip", zipped(("m/config.json", b"{}"), ("__MACOSX/x", b"junk"))) == {"m/config.json": 2}
    assert unpack("m.tgz", tarred((tarfile.TarInfo("./m/config.json"), b"{}"))) == {"m/config.json": 2}
    assert unpack("m.tar", tarred((tarfile.TarInfo("m/a.json"), b"{}"), mode="w")) == {"m/a.json": 2}
    content = bytearray(zipped(("a.json", b"x" * 5000)))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (10).to_bytes(4, "little")  # the directory says: ten bytes
    with suppress(Refused):
        assert unpack("x.zip", bytes(content))["a.json"] <= 5000


def link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


def linked_zip() -> bytes:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped((info, b"/etc/passwd"))


def encrypted() -> bytes:
    content = bytearray(zipped(("a.json", b"{}")))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    return bytes(content)


EVIL = ("../evil", "/etc/passwd", "C:evil")
HOSTILE = [
    *(("x.zip", zipped((name, b"x")), "file name") for name in EVIL),
    *(("x.tar.gz", tarred((tarfile.TarInfo(name), b"x")), "file name") for name in EVIL),
    *(("x.tgz", tarred((link(kind), b"")), "link or a device") for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE)),
    *(("x.tgz", tarred((link(kind), b"")), "link or a device") for kind in (tarfile.CHRTYPE, tarfile.FIFOTYPE)),
    ("x.zip", linked_zip(), "holds a link"),
    ("x.zip", encrypted(), "encrypted"),
    ("x.tar", tarred((tarfile.TarInfo("a"), b"1"), (tarfile.TarInfo("A"), b"2"), mode="w"), "twice"),
    ("x.tar.gz", b"\x1f\x8b torn", "archive"),
]


def test_paths_that_lead_out_links_encryption_and_one_name_twice_are_refused(unpack):
    for name, content, told in HOSTILE:
        with pytest.raises(Refused, match=told):
            unpack(name, content)


def test_bombs_are_refused_while_they_unpack(unpack):
    bomb = bytes(80 * 1024 * 1024)
    for name, content in (("b.zip", zipped(("zeros.json", bomb))), ("b.tgz", tarred((tarfile.TarInfo("z"), bomb)))):
        with pytest.raises(Refused, match="times its size"):
            unpack(name, content)


def test_headers_and_directories_of_megabytes_are_refused_unread(unpack):
    one = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0)
    listed = (one + b"name") * 100_000
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, len(listed), 0, 0)
    with pytest.raises(Refused, match="bytes at once"):
        unpack("p.zip", listed + end)
    said = b"".join(b"13 %06x=x\n" % number for number in range(400_000))
    about = tarfile.TarInfo("PaxHeaders/x")
    about.type, about.size = tarfile.XHDTYPE, len(said)
    whole = about.tobuf() + said + bytes(-len(said) % 512) + tarfile.TarInfo("x.txt").tobuf() + bytes(1024)
    for name, content in (("p.tar", whole), ("p.tar.gz", gzip.compress(whole))):
        with pytest.raises(Refused, match="bytes at once"):
            unpack(name, content)

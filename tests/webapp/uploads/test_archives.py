"""Archives from strangers: unpacked safely, or refused with nothing left behind."""

from __future__ import annotations

import contextlib
import gzip
import io
import stat
import tarfile
import zipfile

import pytest

from tests.webapp.uploads.test_sending_files import pieces, sha
from webapp.core.problems import Invalid
from webapp.uploads import services
from webapp.uploads.models import UploadedFile
from webapp.uploads.services import Listed


def zipped(*files: tuple[str, bytes], method=zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
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


def unpack(world, name: str, content: bytes) -> dict[str, int]:
    by = world.actor(world.bob)
    upload = services.begin(
        name=name, files=[Listed(name, len(content), tuple(sha(piece) for piece in pieces(content)))], by=by
    )
    for piece in pieces(content):
        services.receive(upload=upload, sha256=sha(piece), stream=io.BytesIO(piece), by=by)
    services.complete(upload=upload, by=by)
    return dict(UploadedFile.objects.filter(upload=upload).values_list("path", "size"))


def test_a_zip_and_a_tar_take_the_place_of_their_files(world):
    assert unpack(world, "m.zip", zipped(("m/config.json", b"{}"), ("__MACOSX/x", b"junk"))) == {"m/config.json": 2}
    assert unpack(world, "m.tgz", tarred((tarfile.TarInfo("./m/config.json"), b"{}"))) == {"m/config.json": 2}
    assert unpack(world, "m.tar", tarred((tarfile.TarInfo("m/a.json"), b"{}"), mode="w")) == {"m/a.json": 2}


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../evil", "a\\..\\evil", "C:evil"])
def test_zip_slip_is_refused_in_zip_and_tar(world, name):
    for archive, content in (("x.zip", zipped((name, b"x"))), ("x.tar.gz", tarred((tarfile.TarInfo(name), b"x")))):
        with pytest.raises(Invalid, match="file name"):
            unpack(world, archive, content)


def link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(world, kind):
    with pytest.raises(Invalid, match="link or a device"):
        unpack(world, "x.tar.gz", tarred((link(kind), b"")))


def test_a_link_in_a_zip_is_refused(world):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(Invalid, match="holds a link"):
        unpack(world, "x.zip", buffer.getvalue())


def test_bombs_are_refused_while_they_unpack(world):
    bomb = bytes(200 * 1024 * 1024)
    for name, content in (("b.zip", zipped(("zeros.json", bomb))), ("b.tgz", tarred((tarfile.TarInfo("z"), bomb)))):
        with pytest.raises(Invalid, match="times its size"):
            unpack(world, name, content)


def test_a_directory_that_lies_about_sizes_is_refused(world):
    content = bytearray(zipped(("a.json", b"x" * 5000)))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (10).to_bytes(4, "little")  # the directory says: ten bytes
    with contextlib.suppress(Invalid):
        assert unpack(world, "x.zip", bytes(content))["a.json"] <= 5000


def test_one_name_twice_is_refused(world):
    with pytest.raises(Invalid, match="twice"):
        unpack(world, "x.tar", tarred((tarfile.TarInfo("a"), b"1"), (tarfile.TarInfo("A"), b"2"), mode="w"))


def test_a_pax_header_of_gigabytes_does_not_fill_memory(world):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    with pytest.raises(Invalid, match="cannot be unpacked"):
        unpack(world, "x.tar.gz", gzip.compress(info.tobuf() + bytes(4096)))


@pytest.mark.parametrize("name", ["x.zip", "x.tar", "x.tar.gz"])
@pytest.mark.parametrize(
    "content",
    [b"no archive at all", b"PK\x03\x04 torn", b"\x1f\x8b torn", zipped(("a", b"1"))[:-9]],
    ids=["text", "zip", "gzip", "half a zip"],  # a zip holds the time, and parallel tests must agree on names
)
def test_torn_archives_are_told_in_words(world, name, content):
    with pytest.raises(Invalid, match="archive"):
        unpack(world, name, content)


def test_an_encrypted_zip_is_refused(world):
    content = bytearray(zipped(("a.json", b"{}")))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    with pytest.raises(Invalid, match="encrypted"):
        unpack(world, "x.zip", bytes(content))

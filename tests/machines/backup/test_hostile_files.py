"""Files that are no backups, or no longer, or were made to do harm: a sentence each, and nothing left behind."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.machines.backup.lab import Lab
from webapp.backup import archive
from webapp.backup.archive import Archive, BackupProblem, Writer


def refusal(content: bytes) -> str:
    with pytest.raises(BackupProblem) as caught:
        Archive(io.BytesIO(content)).verify()
    return str(caught.value)


def written(*members: tuple[str, bytes], **about: Any) -> bytes:
    """A file with all the right hashes."""
    out = io.BytesIO()
    writer = Writer(out, version="1", made=datetime.now(UTC))
    usual = {f"secrets/{name}": b"x" for name in archive.SECRETS}
    for name, content in (usual | dict(members)).items():
        writer.add(name, content)
    whole = {"engine": "sqlite", "migrations": [], "tables": {}, "chunks": [], "where": {}, "has_chunks": True}
    writer.close(whole | {"missing": []} | about)
    return out.getvalue()


def as_tar(*members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as made:
        for member in (tarfile.TarInfo(archive.HEAD), *members):
            made.addfile(member)
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def test_what_is_no_backup_is_told_so() -> None:
    for content in (b"", bytes(10240), b"SQLite format 3\0" * 100):
        assert "not a backup of Drafthouse" in refusal(content)


def test_a_backup_is_refused_wherever_it_ends_and_whichever_byte_was_changed(backup: Path) -> None:
    whole, dice = bytearray(backup.read_bytes()), random.Random(1)
    for length in {0, 1, 511, 512, 513, len(whole) - 1, len(whole) - 512, len(whole) - 1024}:
        refusal(bytes(whole[:length]))
    for _ in range(20):
        refusal(bytes(whole[: dice.randrange(len(whole))]))
    refusal(whole + b"\0")
    for at in {*range(0, 1024, 13), *(dice.randrange(len(whole)) for _ in range(100))}:
        flipped = 1 << dice.randrange(8)
        whole[at] ^= flipped
        refusal(bytes(whole))
        whole[at] ^= flipped
    assert Archive(io.BytesIO(bytes(whole))).verify()


@pytest.mark.parametrize(
    "wrong",
    [
        member("../../etc/passwd"),
        member("secrets/metrics"),
        member("secrets/secret_key", tarfile.SYMTYPE, "/etc/passwd"),
        member("secrets/secret_key", tarfile.LNKTYPE, "/etc/passwd"),
        member("tables/jobs.job/000000.gz\n"),
    ],
    ids=lambda member: f"{member.name!a} {member.type!r}",
)
def test_links_and_paths_that_lead_elsewhere_are_refused(wrong: tarfile.TarInfo) -> None:
    said = refusal(as_tar(wrong))
    assert "Drafthouse never writes" in said or "damaged" in said


def test_sizes_below_nothing_members_twice_and_other_formats_are_refused(monkeypatch: pytest.MonkeyPatch):
    head = bytearray(member(archive.HEAD).tobuf(tarfile.USTAR_FORMAT))
    head[124:136] = b"\xff" * 12  # -1 as GNU spells it
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 8 * 32 + sum(head[156:]))
    refusal(bytes(head) + bytes(10240))
    assert "twice" in refusal(as_tar(member("secrets/secret_key"), member("secrets/secret_key")))
    monkeypatch.setattr(archive, "FORMAT", 2)
    later = written()
    monkeypatch.setattr(archive, "FORMAT", 1)
    assert "format 2, made by Drafthouse 1" in refusal(later)


def test_a_table_that_unpacks_without_end_is_refused() -> None:
    bomb = gzip.compress(bytes(archive.MOST_UNPACKED + 1), 9)
    made = Archive(io.BytesIO(written(("tables/jobs.job/000000.gz", bomb))))
    made.verify()
    with pytest.raises(BackupProblem, match="unpacks to more than"):
        list(made.lines("jobs.job"))


NO_CHUNK = {"chunks": [["00000000-0000-0000-0000-000000000000", "0" * 64, 5]]}


def test_a_manifest_of_another_shape_or_that_promises_more_than_there_is_is_refused() -> None:
    assert "damaged" in refusal(written().replace(b'"members": {', b'"members_": {'))
    with pytest.raises(BackupProblem, match="manifest"):  # by the writer already, which reads its own manifest
        written(tables={"jobs.job": 3})
    assert "chunk" in refusal(written(**NO_CHUNK))
    assert "secret_key" in refusal(written(("secrets/secret_key", b"\xff\xfe")))


def test_a_refused_file_leaves_nothing_behind_and_a_check_touches_nothing(backup: Path, tmp_path: Path) -> None:
    for content in (backup.read_bytes()[:5000], written(migrations=[["jobs", "0999_later"]])):
        (tmp_path / "bad.tar").write_bytes(content)
        code, said = Lab(tmp_path / "new").run("restore", tmp_path / "bad.tar")
        assert code == 1 and "Traceback" not in said, said
    said = Lab(tmp_path / "new").do("restore", backup, "--check")
    assert "The file is whole." in said and "comparisons.sample" in said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar"]

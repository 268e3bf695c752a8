"""Look into zip and tar archives without trusting a word of them."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from webapp.core.problems import Invalid
from webapp.uploads import paths
from webapp.uploads.reading import LONGEST_READ, FileReader, TooMuchAtOnce

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
TABLES = (".parquet",)  # packed rows, which become JSON lines
MOST_FILES = 2000
LARGEST_SIP = 4 << 20  # bytes; from a longer directory or header the libraries would make a GiB of objects
GREATEST_RATIO = 100  # unpacked bytes per packed byte; weights and text stay far below
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, TooMuchAtOnce, ValueError,
           NotImplementedError, RuntimeError)  # fmt: skip


def is_archive(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def is_table(name: str) -> bool:
    return name.lower().endswith(TABLES)


def is_packed(name: str) -> bool:
    return is_archive(name) or is_table(name)


def members(reader: FileReader, name: str) -> Iterator[tuple[str, _Counted]]:
    """Yield each file of the archive: its clean path and a stream that may be read once. Links, devices and bombs raise
    Invalid."""
    budget = _Budget(GREATEST_RATIO * reader.size + LONGEST_READ, name)
    seen: set[str] = set()
    reader.longest_read = LARGEST_SIP
    try:
        for path, stream in _zip(reader, name) if name.lower().endswith(".zip") else _tar(reader, name, budget):
            if paths.is_junk(path):
                continue
            path = paths.clean(path)
            if path.casefold() in seen:
                raise _refuse(name, f"holds {path!r} twice")
            seen.add(path.casefold())
            if len(seen) > MOST_FILES:
                raise _refuse(name, f"holds more than {MOST_FILES} files")
            yield path, _Counted(stream, budget)
    except _BROKEN as error:
        raise _refuse(name, f"cannot be unpacked ({error})") from None
    if not seen:
        raise _refuse(name, "holds no files")


def _zip(reader: FileReader, name: str) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(reader) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 0x1:
                raise _refuse(name, f"is encrypted at {info.filename!r}")
            if info.external_attr >> 16 & 0o170000 == 0o120000:
                raise _refuse(name, f"holds a link, {info.filename!r}")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refuse(name, f"packs {info.filename!r} in a way that is not read here")
            with archive.open(info) as stream:
                yield info.filename, stream


def _tar(reader: FileReader, name: str, budget: _Budget) -> Iterator[tuple[str, IO[bytes]]]:
    packed = name.lower().endswith("gz")
    plain: Any = _Capped(gzip.GzipFile(fileobj=reader), budget) if packed else reader
    with tarfile.open(fileobj=plain, mode="r:") as archive:
        for info in archive:
            if info.isdir():
                continue
            if not info.isreg() or info.issparse():
                raise _refuse(name, f"holds {info.name[:80]!r}, which is a link or a device")
            stream = archive.extractfile(info)
            assert stream is not None  # it is a regular file
            yield info.name.removeprefix("./"), stream


class _Budget:
    def __init__(self, left: int, name: str) -> None:
        self.left = left
        self.name = name

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _refuse(self.name, f"unpacks to more than {GREATEST_RATIO} times its size")


class _Counted:
    """A member's stream that counts what is read: the sizes in an archive's directory prove nothing."""

    def __init__(self, stream: IO[bytes], budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int) -> bytes:
        try:
            piece = self._stream.read(size)
        except _BROKEN as error:
            raise _refuse(self._budget.name, f"cannot be unpacked ({error})") from None
        self._budget.spend(len(piece))
        return piece


class _Capped:
    """The unpacked stream for tarfile, so that a header cannot make it unpack gigabytes into memory, or skip over
    them."""

    def __init__(self, file: gzip.GzipFile, budget: _Budget) -> None:
        self._file = file
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_SIP:
            raise TooMuchAtOnce(f"{size} bytes at once")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._budget.spend(max(0, offset - self._file.tell()))
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _refuse(name: str, why: str) -> Invalid:
    return Invalid(f"The archive {name} {why}.", code="bad-archive", hint="Send the files themselves instead.")

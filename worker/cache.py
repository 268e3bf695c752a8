"""The models on this machine's disk, each under a name that tells what is in it, so that none is fetched twice. All
workers of the machine share them. Beyond the limit the longest unused go first; what a job uses stays."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from webapp.core import modes
from webapp.core.disk import is_disk_full
from worker.disk import NotNow, bytes_in

GROWING = "growing-"
GIB = 2**30


class NoRoom(Exception):
    """A model that does not fit, however long one waits; the message says why, and what to do."""


class FileCache:
    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit  # bytes

    def use(self, name: str, size: int, fill: Callable[[Path], None], using: ExitStack) -> Path:
        """Its folder, filled first where it is not here. Nobody takes it away until `using` is closed."""
        folder = self.folder / name
        while not _hold(folder, using):
            self._add(folder, size, fill)
        os.utime(folder)
        return folder

    def models(self) -> dict[Path, int]:
        """Those that are here whole, and how large each is; the longest unused first."""
        there = [one for one in self.folder.glob("*") if not one.name.startswith(GROWING)]
        return {one: bytes_in(one) for one in sorted(there, key=_last_used)}

    def _add(self, folder: Path, size: int, fill: Callable[[Path], None]) -> None:
        """Whole or not at all; of two workers who add the same at once, either will do."""
        self.folder.mkdir(mode=modes.FOLDER, exist_ok=True)
        self._sweep()
        self._make_room(size)
        with self._growing() as growing:
            try:
                fill(growing)
                modes.tighten_all(growing)
                growing.rename(folder)
            except OSError as error:
                if is_disk_full(error):
                    raise NotNow(f"There is no room for it in {self.folder}; make some.") from None
                if error.errno == errno.EFBIG:
                    raise NoRoom(f"{self.folder} cannot hold files as large as its own.") from None
                if not folder.exists():
                    raise

    def _make_room(self, size: int) -> None:
        models = self.models()
        taken = sum(models.values())
        room = min(self.limit, taken + shutil.disk_usage(self.folder).free)
        for model, bytes_there in models.items():
            if taken + size <= room or size > room:  # it fits, or never will, whatever goes
                break
            if _remove(model):
                taken -= bytes_there
        if taken + size > room:
            trouble = NotNow if taken + size <= self.limit else NoRoom
            raise trouble(
                f"It has {size / GIB:.1f} GiB, and in {self.folder} there is room for {max(0, room - taken) / GIB:.1f} "
                f"beside what is in use. Make room on the disk, or raise DRAFTHOUSE_MODEL_CACHE_GB "
                f"({self.limit / GIB:.0f})."
            )

    @contextmanager
    def _growing(self) -> Iterator[Path]:
        """Locked as long as its maker lives, so that others can tell what a killed one has left."""
        with ExitStack() as using:
            folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=GROWING))
            while not _hold(folder, using):  # somebody swept it away before it was locked
                folder = Path(tempfile.mkdtemp(dir=self.folder, prefix=GROWING))
            using.callback(shutil.rmtree, folder, ignore_errors=True)
            yield folder

    def _sweep(self) -> None:
        for left in self.folder.glob(f"{GROWING}*"):
            _remove(left)


def _hold(folder: Path, using: ExitStack) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    fcntl.flock(lock, fcntl.LOCK_SH)
    using.callback(os.close, lock)
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), folder.stat())
    return False  # it was taken away before we had it


def _remove(folder: Path) -> bool:
    """Unless somebody uses it."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not folder.name.startswith(GROWING):
                folder = folder.rename(folder.with_name(f"{GROWING}{folder.name}"))
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    return False


def _last_used(folder: Path) -> float:
    with suppress(OSError):
        return folder.stat().st_mtime
    return 0.0

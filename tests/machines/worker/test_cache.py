"""Models on a machine's disk: brought once, shared by its workers, and not more than there may be."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from worker.cache import FileCache, NoRoom
from worker.disk import NotNow

ROOT = Path(__file__).parents[3]
SIZE = 1000

# Uses a model and says so, then waits to be told; or is killed in the middle of bringing one.
OTHER = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from worker.cache import FileCache

def fill(folder):
    (folder / "weights").write_bytes(bytes(1000))
    if sys.argv[2] == "half":
        print("ready", flush=True)
        time.sleep(600)

with ExitStack() as using:
    FileCache(Path(sys.argv[1]), 10_000).use("theirs", 1000, fill, using)
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(tmp_path / "models", 3 * SIZE)


def fill(folder: Path) -> None:
    (folder / "weights").write_bytes(bytes(SIZE))


def never(folder: Path) -> None:
    raise AssertionError("brought again")


def bring(cache: FileCache, *names: str) -> None:
    """Used and let go, one after the other, as by jobs that came minutes apart."""
    for number, name in enumerate(names):
        with ExitStack() as using:
            folder = cache.use(name, SIZE, fill, using)
        os.utime(folder, (number, number))


def there(cache: FileCache) -> set[str]:
    return {folder.name for folder in cache.models()}


def other(cache: FileCache, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER, str(cache.folder), how]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_longest_unused_goes_when_there_is_no_more_room(cache):
    bring(cache, "a", "b", "c")
    with ExitStack() as using:
        cache.use("a", SIZE, never, using)  # it is there
        cache.use("d", SIZE, fill, using)
    assert there(cache) == {"a", "c", "d"}


def test_what_a_job_uses_stays_and_what_does_not_fit_beside_it_is_told(cache):
    with ExitStack() as using:
        cache.use("target", 2 * SIZE, fill, using)
        (cache.folder / "target" / "more").write_bytes(bytes(SIZE))
        with pytest.raises(NoRoom, match="DRAFTHOUSE_MODEL_CACHE_GB"):
            cache.use("draft", 2 * SIZE, fill, using)
        assert there(cache) == {"target"}
    with ExitStack() as using, pytest.raises(NoRoom):
        cache.use("huge", 4 * SIZE, fill, using)  # nothing goes for what would never fit
    assert there(cache) == {"target"}
    with ExitStack() as using:
        cache.use("draft", 2 * SIZE, fill, using)
    assert there(cache) == {"draft"}


def test_what_another_process_uses_stays_until_it_ends(cache):
    with other(cache, "whole") as process:
        os.utime(cache.folder / "theirs", (0, 0))
        bring(cache, "a", "b", "c", "d")
        assert there(cache) == {"theirs", "c", "d"}
        process.communicate("done\n")
    bring(cache, "e")
    assert "theirs" not in there(cache)


def test_what_a_killed_process_left_half_brought_is_swept_away(cache):
    with other(cache, "half") as process:
        bring(cache, "one")
        assert len(list(cache.folder.glob("growing-*"))) == 1  # it is alive and at work
        process.send_signal(signal.SIGKILL)
    bring(cache, "two")
    assert list(cache.folder.glob("growing-*")) == []
    assert there(cache) == {"one", "two"}


def test_what_breaks_on_its_way_leaves_nothing(cache):
    def full(folder: Path) -> None:
        fill(folder)
        raise OSError(errno.ENOSPC, "No space left on device")

    with ExitStack() as using, pytest.raises(NotNow, match="no room for it"):
        cache.use("one", SIZE, full, using)
    assert list(cache.folder.iterdir()) == []

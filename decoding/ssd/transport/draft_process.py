"""The draft's process as the target's process holds it: on cores of its own, started when first needed, and killed when
it does not answer."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from decoding.errors import BadDevice, DrafthouseError, DraftLost
from decoding.models.runner import ModelRunner
from decoding.ssd.transport import messages
from decoding.ssd.transport.mailbox import Mailbox, MailboxTimeout, ProcessGone, connect
from decoding.vocabularies.bridge import translated

# Cores ----------------------------------------------------------------------------------------------------------------

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """Processor cores of a target and a draft that run at once. `target` and `draft` are core numbers; both are empty
    if the system lets nobody choose."""

    count: int
    target: tuple[int, ...] = ()
    draft: tuple[int, ...] = ()

    def with_target_on(self, device: torch.device) -> str:
        """Describe which cores target and draft use, for display."""
        if device.type != "cpu":
            return f"{device} for the target, {f'core {self.draft[0]}' if self.draft else 'a core'} for the draft"
        if not self.draft:
            return f"{self.count} cores, one of them for the draft; this system does not let us choose which"
        return f"{self.count} cores: target on {_listed(self.target)}, draft on {_listed(self.draft)}"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """Keep this process off the draft's core. A thread that is started meanwhile stays on its starter's cores."""
        threads = torch.get_num_threads()
        before = {thread: os.sched_getaffinity(thread) for thread in _threads()} if self.target else {}
        torch.set_num_threads(max(1, min(threads, self.count - 1)))
        for thread in before:
            _pin(thread, self.target)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            for thread, cores in before.items():
                _pin(thread, cores)


def divide() -> Cores | None:
    """Give the draft the last core and the target the others. None if there is only one core."""
    if not hasattr(os, "sched_getaffinity"):
        count = os.cpu_count() or 1
        return Cores(count) if count > 1 else None
    if _quota() < 2:
        return None
    allowed = sorted(os.sched_getaffinity(0))
    draft = allowed[-1]
    target = tuple(core for core in allowed if core not in _siblings(draft))
    return Cores(len(target) + 1, target, (draft,)) if target else None


def _quota() -> float:
    """Number of cores whose time this container may use."""
    limit = Path("/sys/fs/cgroup/cpu.max")
    used, _, period = limit.read_text().partition(" ") if limit.exists() else ("max", "", "")
    return float("inf") if used == "max" else int(used) / int(period)


def _siblings(core: int) -> set[int]:
    """All numbers of the same core: its hardware threads do not run at once."""
    listed = CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"
    if not listed.exists():
        return {core}
    ranges = [part.partition("-") for part in listed.read_text().strip().split(",")]
    return {core for first, _, last in ranges for core in range(int(first), int(last or first) + 1)}


def _threads() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/task").iterdir()]


def _pin(thread: int, cores: Iterable[int]) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.sched_setaffinity(thread, cores)


def _listed(cores: Sequence[int]) -> str:
    """Format core numbers in short: `0`, `0-6`, `0, 2, 4`."""
    if len(cores) > 2 and cores[-1] - cores[0] == len(cores) - 1:
        return f"{cores[0]}-{cores[-1]}"
    return ", ".join(map(str, cores))


# The process ----------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[3]
QUESTION, ANSWER, POSTSCRIPT, BOARD = 1 << 24, 1 << 29, 1 << 20, 1 << 20  # bytes; used only as far as written
LOADING_S = 600.0
DYING_S = 5.0  # from a closed bell to the end of the process that held it

# One thread for its one core. Set before the process starts, because torch reads them when it is imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Patience:
    """Time limits for answers. A busy machine makes the draft slow, which must not cost a sample its draft; a
    stopped process must. So the limit is far above the time of any work: an answer is about a dozen passes of a model
    smaller than the target, and the slowest verification so far says how long a pass takes on this machine."""

    floor_s: float = 20.0
    per_verification: float = 100.0  # times the slowest so far
    per_prompt_token_s: float = 0.1

    def reading_s(self, tokens: int) -> float:
        return 3 * self.floor_s + self.per_prompt_token_s * tokens

    def answering_s(self, slowest_s: float) -> float:
        return max(self.floor_s, self.per_verification * slowest_s)


def runner_in(folder: Path, dtype: str, context: int, runner: str) -> ModelRunner:
    """Load the draft in its process: as here, but on a processor core, wherever the target is."""
    from decoding.models.checkpoints import load  # takes seconds, and the target's process does not need it

    return load(folder, dtype=dtype, context=context, runner=runner, device=torch.device("cpu")).runner


def process_for(
    folder: Path, dtype: str, context: int, runner: str = "auto", *, target: Path | None = None
) -> DraftProcess | None:
    """Make a process for this draft, not started yet. `target` is given if its tokenizer is another than the draft's.
    None if the machine has no second core."""
    cores = divide()
    load: Callable[[], ModelRunner] = partial(runner_in, folder, dtype, context, runner)
    if target:
        load = partial(translated, load, target, folder)
    return DraftProcess(load, cores) if cores else None


class DraftProcess:
    """`load` runs in the process, so it must survive pickling."""

    def __init__(self, load: Callable[[], ModelRunner], cores: Cores, patience: Patience | None = None) -> None:
        self.cores = cores
        self.patience = patience or Patience()
        self._load = load
        self._process: subprocess.Popen[bytes] | None = None
        self._mailbox: Mailbox
        self._owes_an_answer = False
        self.sent = 0  # messages so far; a postscript belongs to the last one

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> DraftProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def begin(self) -> None:
        """Start the process and wait until it is loaded. Replaces one that died, or that still owes an answer."""
        if self._process and self._process.poll() is None and not self._owes_an_answer:
            return
        self.end()
        self._start()
        try:
            messages.check_reply(self.ask(pickle.dumps(self._load), LOADING_S))
        except DrafthouseError:
            self.end()
            raise

    def ask(self, question: bytes, patience_s: float) -> bytearray:
        """Ask and wait for the answer."""
        self._owes_an_answer = True
        self.notify(question)
        reply = self._heard(self._mailbox.wait, patience_s)
        self._owes_an_answer = False
        return reply

    def notify(self, news: bytes) -> None:
        """Send what needs no answer. The process still adds a postscript."""
        self.sent += 1
        self._mailbox.send(news)

    def posted(self) -> bytearray | None:
        """The board, if the process has posted on it since the last question."""
        return self._mailbox.posted()

    def postscript(self, patience_s: float) -> bytearray:
        """The postscript to the last message, once."""
        return self._heard(self._mailbox.postscript, patience_s)

    def end(self) -> None:
        """Kill the process: it holds nothing that could be lost."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._mailbox.close()
        self._process = None
        self._owes_an_answer = False

    def _start(self) -> None:
        self._mailbox, far = connect(QUESTION, ANSWER, POSTSCRIPT, BOARD)
        path = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])  # ours first; packages may lie on the rest
        arguments = [far.memory, far.bell_read, far.bell_write, *far.sizes, *self.cores.draft]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "decoding.ssd.transport", *map(str, arguments)],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path)},
            pass_fds=far.descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        far.close()

    def _heard(self, wait: Callable[[float], bytearray], patience_s: float) -> bytearray:
        """Wait for a message. If none comes, end the process and raise DraftLost."""
        assert self._process is not None
        try:
            return wait(patience_s)
        except MailboxTimeout:
            reason = f"The draft's process did not answer within {patience_s:g} s, so it was ended."
        except ProcessGone:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(DYING_S)
            reason = f"The draft's process {_end_of(self._process.returncode)}."
        self.end()
        raise DraftLost(reason)


def placed(placement: str, process: DraftProcess | None) -> DraftProcess | None:
    """The process in which this placement puts the draft; None if the draft works in the target's process."""
    if placement not in ("auto", "beside"):
        return None
    if placement == "beside" and process is None:
        raise BadDevice(
            "placement=beside needs two processor cores, one for the target and one for the draft, and this machine "
            "gives us one. Use placement=in-turn, which has the same text and hits but no overlap, or a larger machine."
        )
    return process


def _end_of(code: int | None) -> str:
    if code is None:
        return "hung up"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

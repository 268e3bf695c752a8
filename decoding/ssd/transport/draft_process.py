"""The draft's process as the target's side holds it: started when first needed, asked, and ended without mercy when it
does not answer."""

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
from decoding.runner import ModelRunner
from decoding.ssd.transport import messages
from decoding.ssd.transport.mailbox import Gone, Mailbox, Silence, connect

CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    """`target` and `draft` are the processor's numbers; both are empty where the system lets nobody choose."""

    count: int
    target: tuple[int, ...] = ()
    draft: tuple[int, ...] = ()

    def with_target_on(self, device: torch.device) -> str:
        """Who has what, for people."""
        if device.type != "cpu":
            return f"{device} for the target, {f'core {self.draft[0]}' if self.draft else 'a core'} for the draft"
        if not self.draft:
            return f"{self.count} cores, one of them for the draft; this system does not let us choose which"
        return f"{self.count} cores: target on {_listed(self.target)}, draft on {_listed(self.draft)}"

    @contextmanager
    def for_target(self) -> Iterator[None]:
        """This process keeps off the draft's core. A thread that was started meanwhile stays where its starter was."""
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
    """The draft gets the last core, the target the others. None where there is only one."""
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
    """How many cores' worth of time this container may use."""
    told = Path("/sys/fs/cgroup/cpu.max")
    used, _, period = told.read_text().partition(" ") if told.exists() else ("max", "", "")
    return float("inf") if used == "max" else int(used) / int(period)


def _siblings(core: int) -> set[int]:
    """The core and those that are the same one under another number: two threads of one core do not run at once."""
    told = CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"
    if not told.exists():
        return {core}
    ranges = [part.partition("-") for part in told.read_text().strip().split(",")]
    return {core for first, _, last in ranges for core in range(int(first), int(last or first) + 1)}


def _threads() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/task").iterdir()]


def _pin(thread: int, cores: Iterable[int]) -> None:
    with suppress(ProcessLookupError):  # it has ended
        os.sched_setaffinity(thread, cores)


def _listed(cores: Sequence[int]) -> str:
    """`0`, `0-6`, `0, 2, 4`: as short as it can be said."""
    if len(cores) > 2 and cores[-1] - cores[0] == len(cores) - 1:
        return f"{cores[0]}-{cores[-1]}"
    return ", ".join(map(str, cores))


ROOT = Path(__file__).resolve().parents[3]
QUESTION, ANSWER, POSTSCRIPT, BOARD = 1 << 24, 1 << 27, 1 << 20, 1 << 20  # bytes; used only as far as written
LOADING = 600.0  # s
DYING = 5.0  # s from a silent bell to the end of the process that rang it

# As many cores as it has. Set before it starts, since torch looks when it is imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True)
class Patience:
    """How long an answer may take, in seconds. A draft is slow when the machine is busy and hung when it is stopped;
    only the second may cost a sample its draft, so this is far from anything that work takes. An answer is some dozen
    passes at most of a model smaller than the target, and what the target's pass takes on this machine, busy as it is,
    the slowest verification so far tells."""

    floor: float = 20.0
    per_verification: float = 100.0  # times the slowest so far
    per_prompt_token: float = 0.1

    def reading(self, tokens: int) -> float:
        return 3 * self.floor + self.per_prompt_token * tokens

    def answering(self, slowest: float) -> float:
        return max(self.floor, self.per_verification * slowest)


def runner_in(folder: Path, dtype: str, context: int, runner: str) -> ModelRunner:
    """The draft as it is loaded over there: like here, but on processor cores wherever the target is."""
    from decoding.checkpoints import load  # takes seconds, and nobody needs it on this side

    return load(folder, dtype=dtype, context=context, runner=runner, device=torch.device("cpu")).runner


def process_for(folder: Path, dtype: str, context: int, runner: str = "auto") -> DraftProcess | None:
    """One for this draft, not started yet; None where the machine has no second core to run it on."""
    cores = divide()
    return DraftProcess(partial(runner_in, folder, dtype, context, runner), cores) if cores else None


class DraftProcess:
    """`load` is called over there, so it must survive pickling."""

    def __init__(self, load: Callable[[], ModelRunner], cores: Cores, patience: Patience | None = None) -> None:
        self.cores = cores
        self.patience = patience or Patience()
        self._load = load
        self._process: subprocess.Popen[bytes] | None = None
        self._mailbox: Mailbox
        self._owes_an_answer = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> DraftProcess:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def begin(self) -> None:
        """Have it loaded and listening. One that died, or was left in the middle of an answer, is replaced."""
        if self._process and self._process.poll() is None and not self._owes_an_answer:
            return
        self.end()
        self._start()
        try:
            messages.opened(self.ask(pickle.dumps(self._load), LOADING))
        except DrafthouseError:
            self.end()
            raise

    def ask(self, question: bytes, patience: float) -> bytearray:
        """Its answer, within so many seconds. Raises DraftLost where none comes, and ends what is left of it."""
        self._owes_an_answer = True
        self._mailbox.send(question)
        try:
            reply = self._mailbox.wait(patience)
        except (Gone, Silence) as why:
            raise self._lost(why, patience) from None
        self._owes_an_answer = False
        return reply

    def tell(self, news: bytes) -> None:
        """What it need not answer, though it will add a postscript."""
        self._mailbox.send(news)

    def posted(self) -> bytearray | None:
        """What it says of its own accord about what was asked last."""
        return self._mailbox.posted()

    def postscript(self, patience: float) -> bytearray:
        """What it added to what was asked or told last, once."""
        try:
            return self._mailbox.postscript(patience)
        except (Gone, Silence) as why:
            raise self._lost(why, patience) from None

    def end(self) -> None:
        """At once: it has nothing that could be lost."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._mailbox.close()
        self._process = None
        self._owes_an_answer = False

    def _start(self) -> None:
        self._mailbox, far = connect(QUESTION, ANSWER, POSTSCRIPT, BOARD)
        told = [far.memory, far.hears, far.rings, *far.sizes, *self.cores.draft]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "decoding.ssd.transport", *map(str, told)],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)},
            pass_fds=far.descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        far.close()

    def _lost(self, why: Gone | Silence, patience: float) -> DraftLost:
        assert self._process is not None
        if isinstance(why, Silence):
            reason = f"The draft's process did not answer within {patience:g} s, so it was ended."
        else:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(DYING)
            reason = f"The draft's process {_end_of(self._process.returncode)}."
        self.end()
        return DraftLost(reason)


def placed(placement: str, process: DraftProcess | None) -> DraftProcess | None:
    """Where the draft works: in its process, or, where there is none or another place is wanted, in the target's."""
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

"""How a command ends: by Ctrl-C, with a slip in one sentence, with an exit code by convention."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from types import FrameType
from typing import Any

from decoding.errors import DrafthouseError

WRONG, STOPPED, UNREAD = 2, 130, 141


def ended(work: Callable[[Sequence[str]], None], argv: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a mark that a terminal cannot show must not cost the result
    try:
        work(argv)
        sys.stdout.flush()
    except DrafthouseError as error:
        print(error, file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # who reads, `head` say, has enough; Python would try once more at its exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return 0


class Interrupt:
    """Ctrl-C once: stop after the round, and keep what is done. Twice: stop at once, and still keep it. The decode loop
    asks before every round."""

    def __init__(self) -> None:
        self.is_asked = False
        self._before: Any = None

    def __call__(self) -> bool:
        return self.is_asked

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        signal.signal(signal.SIGINT, self._before)
        os.write(2, b"\nStopping after what runs now; Ctrl-C once more stops at once.\n")  # a print may be under way

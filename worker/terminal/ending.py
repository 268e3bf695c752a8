"""How a command ends: its slips in one sentence, its exit code by convention."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

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

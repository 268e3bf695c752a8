"""How a command ends: its slips in one sentence, its exit code by convention."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from decoding.errors import DrafthouseError

WRONG, STOPPED = 2, 130


def ended(work: Callable[[Sequence[str]], None], argv: Sequence[str]) -> int:
    try:
        work(argv)
    except DrafthouseError as error:
        print(error, file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return STOPPED
    return 0

"""`./drafthouse compare`: every strategy on every prompt, here and now, without a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from decoding.errors import DrafthouseError
from worker.terminal.arguments import read_arguments

WRONG, STOPPED = 2, 130


def main(argv: Sequence[str]) -> int:
    try:
        asked = read_arguments(argv)
        from worker.terminal.running import run  # loads torch, which takes seconds: slips are told before that

        return 0 if run(asked) else STOPPED
    except DrafthouseError as error:
        print(error, file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return STOPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

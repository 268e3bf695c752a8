"""`./drafthouse compare`: every strategy on every prompt, here and now, without a server."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from decoding.vocabularies.shared import check_scores
from worker.terminal.arguments import read_arguments
from worker.terminal.ending import ended
from worker.terminal.guarded import guarded


def compare(argv: Sequence[str]) -> None:
    args = read_arguments(argv)
    if not args.servers_only:
        report = args.material.report
        report.require()
        if report.shared:
            check_scores(report.shared.method(args.pair.other_tokenizer), args.choices)
    from worker.terminal.running import run  # loads torch, which takes seconds: slips are told before that

    if not run(args):
        raise KeyboardInterrupt


def main(argv: Sequence[str]) -> int:
    return ended(compare, argv)


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(sys.argv[1:])))

"""`./drafthouse compare`: every strategy on every prompt, here and now, without a server.

The command is its job: it carries out the job's order in this process, prints what that reports and writes the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

from decoding.backends.contestants.servers.dialects import dialect_called
from decoding.errors import DrafthouseError
from decoding.vocabularies.shared import check_scores
from worker.jobs.comparison import Compare
from worker.servers import local_pids
from worker.started_server import started
from worker.terminal.arguments import Arguments, read_arguments
from worker.terminal.ending import Interrupt, ended
from worker.terminal.files import whole_file
from worker.terminal.guarded import command, spare
from worker.terminal.hearing import Heard, TraceFile
from worker.terminal.progress import say
from worker.terminal.servers import AskedServer, shown, to_ask
from worker.terminal.studying import make_ready
from worker.terminal.table import palette_for, result


def compare(argv: Sequence[str]) -> None:
    """Show and write what came of it; what was done until Ctrl-C too."""
    args = read_arguments(argv)
    if not args.servers_only:
        report = args.material.report
        report.require()
        if report.shared:
            check_scores(report.shared.method(args.pair.other_tokenizer), args.choices)
    from worker.terminal.document import document, write_document  # loads torch, which takes seconds

    with ExitStack() as outputs:
        json_file = outputs.enter_context(whole_file(args.json)) if args.json else None
        trace = TraceFile(outputs.enter_context(whole_file(args.trace))) if args.trace else None
        interrupt = Interrupt()
        servers = [serving(server, outputs, interrupt) for server in args.servers]
        heard = Heard(args, trace, local_pids(server.spec for server in servers if not server.command), interrupt)
        run(order_of(args, servers), args, heard, interrupt)
        outcome = document(args, heard, servers)
        if json_file:
            write_document(outcome, json_file)
    if not heard.is_complete:
        say(f"Stopped after {len(heard.samples)} of {args.sample_count} samples; only whole prompts count.")
    print(result(outcome, palette_for(sys.stdout, os.environ)))
    if not heard.is_complete:
        raise KeyboardInterrupt


def serving(server: AskedServer, outputs: ExitStack, cancelled: Interrupt) -> AskedServer:
    """Start the server if it is not running, and note its address. It ends with the outputs."""
    if not server.command:
        return server
    dialect = dialect_called(server.spec.dialect)
    say(f"Starting {server.spec.name}: {shown(server.command)}")
    begun = outputs.enter_context(started(server.spec.name, server.command, dialect.health, cancelled))
    spare(begun.pid)
    say(f"{server.spec.name} is ready at {begun.address}")
    return replace(server, spec=replace(server.spec, address=begun.address))


def order_of(args: Arguments, servers: Sequence[AskedServer]) -> Compare:
    named = {name: Path(name) for choice in args.choices if (name := choice.classifier)}
    pair = None if args.servers_only else replace(args.pair, classifiers={**args.pair.classifiers, **named})
    return Compare(
        pair,
        args.prompts,
        args.sampling,
        choices=args.choices,
        repeats=args.repeats,
        servers=to_ask(servers),
        needs_servers=True,
        is_traced=args.trace is not None,
    )


def run(order: Compare, args: Arguments, heard: Heard, interrupt: Interrupt) -> None:
    from worker.engine.residents import Residents

    make_ready(args, order.memory())
    with closing(heard), suppress(KeyboardInterrupt), interrupt:
        order.carry_out(Residents(), heard.emit, interrupt)
    if not heard.samples:  # there is nothing to show
        raise KeyboardInterrupt if interrupt.is_asked else DrafthouseError(heard.why)


def main(argv: Sequence[str]) -> int:
    return ended(compare, argv)


if __name__ == "__main__":
    command(compare)

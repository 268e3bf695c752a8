"""Arguments of `compare`, checked as far as that needs no model. Standard library only, so that a slip is refused at
once and not after torch is loaded."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from decoding.backends import without_draft
from decoding.choice import Choice, choose, parse_choices
from decoding.core.load import MOST_AT_ONCE, Load, loads
from decoding.drafting.params import Param, Value
from decoding.errors import BadStrategy
from decoding.measure.latency import NO_OBJECTIVE, Objective, parse_objective
from decoding.measure.summary import usual_baseline
from decoding.strategies import BASELINE, STRATEGIES
from worker.terminal.bench import Bench, parser_of, read_bench
from worker.terminal.options import BadArguments, count_of, list_of, rate_of
from worker.terminal.servers import SERVER_HELP, START_HELP, AskedServer, asked_servers

STRATEGIES_UNLESS_NAMED = "autoregressive,static:4,heuristic,threshold:0.4"


@dataclass(frozen=True)
class Arguments(Bench):
    choices: list[Choice]  # every strategy at every load
    loads: tuple[Load, ...]
    objective: Objective
    baseline: str  # label of the one that the others are relative to
    repeats: int
    trace: Path | None
    json: Path | None
    remarks: tuple[str, ...]  # what was decided without being asked
    servers: tuple[AskedServer, ...] = ()
    servers_only: bool = False  # servers run alone: no model is loaded here

    @property
    def sample_count(self) -> int:
        return len(self.prompts) * len(self.choices) * self.repeats


def read_arguments(argv: Sequence[str]) -> Arguments:
    args = _parser().parse_args(argv)
    servers = asked_servers(args.server, args.start)
    servers_only = args.servers_only
    strategies, remarks = _servers_alone(args, servers) if servers_only else _with_baseline(_choices(args, servers))
    bench = read_bench(args, has_turns=True)
    rates, speeds = [rate for rate, _ in args.rate if rate], [speed for rate, speed in args.rate if not rate]
    asked_loads = loads(args.concurrency, rates, speeds, [prompt.at for prompt in bench.prompts])
    _require_parts_of(strategies, bench)
    return Arguments(
        **vars(bench),
        choices=[choice.at(load) for load in asked_loads for choice in strategies],
        loads=asked_loads,
        objective=args.slo,
        baseline=_baseline_label(args.baseline or usual_baseline(strategies), strategies),
        repeats=args.repeats,
        trace=args.trace,
        json=args.json,
        remarks=remarks,
        servers=servers,
        servers_only=servers_only,
    )


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "compare",
        "Run decoding strategies side by side on one pair of models and say which is how much faster.",
        epilog=catalogue(),
    )
    group = parser.add_argument_group("what is compared")
    group.add_argument(
        "--strategies",
        metavar="LIST",
        help=f"such as {STRATEGIES_UNLESS_NAMED} (the default where there is a draft); autoregressive always runs",
    )
    group.add_argument(
        "--baseline",
        metavar="STRATEGY",
        help=f"the one that speed-ups are relative to, {BASELINE} by default; the first server with --servers-only",
    )
    group.add_argument("--server", action="append", default=[], metavar="ADDRESS,…", help=SERVER_HELP)
    group.add_argument("--start", action="append", default=[], metavar="COMMAND", help=START_HELP.replace("%", "%%"))
    group.add_argument(
        "--servers-only",
        action="store_true",
        help="load no model here: prompts go to the servers as text, and nobody audits what they answer",
    )
    group.add_argument(
        "--concurrency",
        type=list_of(count_of),
        default=[],
        metavar="LIST",
        help="users who ask at once, such as 1,4,16; each strategy runs at each; 1 by default",
    )
    group.add_argument(
        "--rate",
        type=list_of(rate_of),
        default=[],
        metavar="LIST",
        help="requests per second that arrive at random times, such as 2,4; recorded: at the times of the request log, "
        f"recorded:2 twice as fast; at most {MOST_AT_ONCE} are decoded at once, and others wait",
    )
    group.add_argument(
        "--slo",
        type=parse_objective,
        default=NO_OBJECTIVE,
        metavar="OBJECTIVE",
        help="what each request is promised, such as ttft=500ms,tpot=50ms; goodput counts those that keep it",
    )
    group.add_argument("--repeats", type=count_of, default=1, metavar="N", help="run every prompt N times")
    output = parser.add_argument_group("what is kept")
    output.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    output.add_argument("--trace", type=Path, metavar="FILE", help="write every round of every sample, as JSON lines")
    return parser


def _choices(args: argparse.Namespace, servers: Sequence[AskedServer]) -> list[Choice]:
    """Strategies first, servers last. With servers, autoregressive alone runs beside them unless others are named."""
    beside = [server.choice for server in servers]
    if args.strategies is not None:
        return [*parse_choices(args.strategies), *beside]
    if beside:
        return [choose(BASELINE), *beside]
    is_undrafted = args.target is not None and args.draft is None
    return without_draft.usual() if is_undrafted else parse_choices(STRATEGIES_UNLESS_NAMED)


def _servers_alone(args: argparse.Namespace, servers: Sequence[AskedServer]) -> tuple[list[Choice], tuple[str, ...]]:
    """Choices of a comparison of servers alone."""
    if not servers:
        raise BadArguments("--servers-only needs servers: give --server ADDRESS,dialect=NAME or --start COMMAND.")
    if any(named is not None for named in (args.strategies, args.target, args.draft)):
        raise BadArguments("--servers-only loads no model here; leave out --strategies, --target and --draft.")
    if args.prompts is None:
        raise BadArguments("Servers alone need prompts: give --prompts FILE.")
    remark = "No model runs here, so nobody audits the answers: texts are only compared with the first server's."
    return [server.choice for server in servers], (remark,)


def _require_parts_of(choices: Sequence[Choice], bench: Bench) -> None:
    if bench.material.draft:
        return
    for choice in choices:
        if choice.spec.needs_draft:
            raise BadStrategy(
                f"{without_draft.why_not(choice.label)} Give --draft MODEL, or leave {choice.strategy} out."
            )
        if choice.classifier is not None and not bench.material.classifier_at(choice.classifier):
            raise BadStrategy(
                f"{choice.label} needs a classifier, and there is none beside this target. Train one on its copies: "
                "train-disco --target MODEL --design sources stores it there. Or name the folder of another: "
                f"{choice.strategy}:classifier=DIR."
            )


def _with_baseline(choices: list[Choice]) -> tuple[list[Choice], tuple[str, ...]]:
    """Add autoregressive if nobody named it: everything is measured against it."""
    if any(choice.spec.role == "baseline" for choice in choices):
        return choices, ()
    baseline = choose(BASELINE)
    return [baseline, *choices], ("autoregressive runs too: it is what the others are compared with.",)


def _baseline_label(named: str, choices: list[Choice]) -> str:
    """Find the label that `--baseline` names. It may be shortened, as in `--strategies`."""
    found = parse_choices(named)
    if len(found) != 1:
        raise BadArguments(f"--baseline names one strategy, and {named!r} are {len(found)}.")
    labels = [choice.label for choice in choices]
    if found[0].label not in labels:
        raise BadArguments(
            f"{found[0].label} takes no part, so nothing can be relative to it. --baseline can be "
            f"{', '.join(labels[:-1])} or {labels[-1]}."
        )
    return found[0].label


def catalogue() -> str:
    """List the strategies and what each takes: the data that forms and API are made of."""
    width = max(60, min(120, shutil.get_terminal_size().columns))
    lines = ["strategies and their settings, as in ssd:4,branches=8 (the first setting may go without its name):"]
    for slug, spec in STRATEGIES.items():
        alone = "" if spec.needs_draft else " Needs no draft model."
        lines += _hanging(f"  {slug:15} ", spec.summary + alone, width)
        for param in spec.params:
            lines += _hanging(" " * 20, f"{param.name}={_text(param.default)}  {param.help}{_bounds(param)}", width, 2)
    return "\n".join(lines)


def _hanging(head: str, words: str, width: int, more: int = 0) -> list[str]:
    return textwrap.wrap(words, width, initial_indent=head, subsequent_indent=" " * (len(head) + more))


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _bounds(param: Param) -> str:
    about = [f"{param.low:g} to {param.high:g}"] if param.kind in ("int", "float") else []
    about += [f"in short {param.short}"] if param.short else []
    return f" ({'; '.join(about)})" if about else ""

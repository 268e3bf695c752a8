"""The command line, checked as far as that needs no model. Standard library only, so that a slip is refused at once and
not after torch is loaded."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from decoding import alone
from decoding.errors import BadStrategy, DrafthouseError
from decoding.load import Load, loads
from decoding.measure.latency import NO_OBJECTIVE, Objective, parse_objective
from decoding.measure.worst import USUAL
from decoding.prompts.forms import FORMS
from decoding.prompts.prompt import Prompt, first_turns
from decoding.spec import Choice, Sampling, choose, parse_choices
from decoding.strategies import BASELINE
from decoding.vocabularies.shared import METHODS
from worker.terminal.catalogue import catalogue
from worker.terminal.prompt_files import read_prompt_file
from worker.terminal.servers import SERVER_HELP, START_HELP, AskedServer, asked_servers

ROOT = Path(__file__).resolve().parents[2]
RECORDED = "recorded"  # in place of a rate: when requests arrived by their log
STRATEGIES_UNLESS_NAMED = "autoregressive,static:4,heuristic,threshold:0.4"


Value = TypeVar("Value")


@dataclass(frozen=True)
class Material:
    """A pair of models or a target alone, prompts for it, and the settings that suit it."""

    name: str
    target: Path
    draft: Path | None
    prompts: Path
    split: str | None = None
    settings: Path | None = None  # JSON: how to sample, as far as nobody asks for anything else

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.target, self.draft) if self.draft else (self.target,)

    @property
    def own_classifier(self) -> Path:
        """Beside the target, where `train-disco` puts it."""
        return self.target.resolve().parent / "disco"

    def classifier_at(self, name: str) -> Path | None:
        if name:
            return Path(name)
        return self.own_classifier if self.own_classifier.is_dir() else None


STARTER = ROOT / "starter"
BOX = {
    "starter": Material(
        name="starter",
        target=STARTER / "pair" / "target",
        draft=STARTER / "pair" / "draft",
        prompts=STARTER / "prompts" / "code.jsonl",
        split="test",
        settings=STARTER / "defaults.json",
    )
}


class BadArguments(DrafthouseError):
    code = "bad-arguments"


@dataclass(frozen=True)
class Bench:
    """A pair, prompts for it, how tokens are chosen and where: what every command needs that runs models."""

    material: Material
    prompts: list[Prompt]
    sampling: Sampling
    threads: int | None
    device: str
    dtype: str
    runner: str
    other_tokenizer: str
    template: Path | None  # chat template in place of the target's own


@dataclass(frozen=True)
class Asked(Bench):
    choices: list[Choice]  # every strategy at every load
    loads: tuple[Load, ...]
    objective: Objective
    baseline: str  # label of the one that the others are relative to
    repeats: int
    trace: Path | None
    json: Path | None
    worst: Path | None
    shows_prompts: bool
    remarks: tuple[str, ...]  # what was decided without being asked
    servers: tuple[AskedServer, ...] = ()
    is_alone: bool = False  # servers run alone: no model is loaded here

    @property
    def sample_count(self) -> int:
        return len(self.prompts) * len(self.choices) * self.repeats


def read_arguments(argv: Sequence[str]) -> Asked:
    given = _parser().parse_args(argv)
    servers = asked_servers(given.server, given.start)
    strategies, remarks = _served(given, servers) if given.servers_only else _with_baseline(_choices(given, servers))
    usual = strategies[0].label if given.servers_only else BASELINE
    bench = read_bench(given, given.split, has_turns=True)
    rates, speeds = [rate for rate, _ in given.rate if rate], [speed for rate, speed in given.rate if not rate]
    asked_loads = loads(given.concurrency, rates, speeds, [prompt.at for prompt in bench.prompts])
    _require_draft_of(strategies, bench)
    return Asked(
        **vars(bench),
        choices=[choice.at(load) for load in asked_loads for choice in strategies],
        loads=asked_loads,
        objective=given.slo,
        baseline=_pinned(given.baseline or usual, strategies),
        repeats=given.repeats,
        trace=given.trace,
        json=given.json,
        worst=given.worst,
        shows_prompts=given.show_prompts,
        remarks=remarks,
        servers=servers,
        is_alone=given.servers_only,
    )


def read_bench(
    given: argparse.Namespace,
    split: str | None,
    *,
    all_splits: bool = False,
    drafting: str = "",
    has_turns: bool = False,
) -> Bench:
    """Read the arguments of `parser_of`. A pair in the box names the split that it usually runs on. `drafting` names
    what the command does if it needs a draft. Without `has_turns`, it takes the first turns of conversations."""
    material = _material(given)
    if drafting and material.draft is None:
        raise BadArguments(f"{alone.lacks_draft(drafting)} Give --draft DIR.")
    material = replace(material, split=None if all_splits else split or material.split)
    prompts = read_prompt_file(material.prompts, material.split, given.limit, given.form)
    return Bench(
        material=material,
        prompts=prompts if has_turns else first_turns(prompts),
        sampling=_sampling(given, material),
        threads=given.threads,
        device=given.device,
        dtype=given.dtype,
        runner=given.runner,
        other_tokenizer=given.other_tokenizer,
        template=given.template,
    )


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        what = message.removeprefix("argument ")
        raise BadArguments(f"{what[0].upper()}{what[1:]}. {self.prog} --help lists what there is.")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(
        "compare",
        "Run decoding strategies side by side on one pair of models and say which is how much faster.",
        epilog=catalogue(),
    )
    what = parser.add_argument_group("what is compared")
    what.add_argument(
        "--strategies",
        metavar="LIST",
        help=f"such as {STRATEGIES_UNLESS_NAMED} (the default where there is a draft); autoregressive always runs",
    )
    what.add_argument(
        "--baseline",
        metavar="STRATEGY",
        help=f"the one that speed-ups are relative to, {BASELINE} unless told; the first server with --servers-only",
    )
    what.add_argument("--server", action="append", default=[], metavar="ADDRESS,…", help=SERVER_HELP)
    what.add_argument("--start", action="append", default=[], metavar="COMMAND", help=START_HELP.replace("%", "%%"))
    what.add_argument(
        "--servers-only",
        action="store_true",
        help="load no model here: prompts go to the servers as text, and nobody audits what they answer",
    )
    what.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    what.add_argument(
        "--concurrency",
        type=list_of(count_of),
        default=[],
        metavar="LIST",
        help="users who ask at once, such as 1,4,16; each strategy runs at each; 1 unless told",
    )
    what.add_argument(
        "--rate",
        type=list_of(rate_of),
        default=[],
        metavar="LIST",
        help="requests per second that arrive at random times, such as 2,4; recorded: at the times of the request log, "
        "recorded:2 twice as fast",
    )
    what.add_argument(
        "--slo",
        type=parse_objective,
        default=NO_OBJECTIVE,
        metavar="OBJECTIVE",
        help="what each request is promised, such as ttft=500ms,tpot=50ms; goodput counts those that keep it",
    )
    what.add_argument("--repeats", type=count_of, default=1, metavar="N", help="run every prompt N times")
    output = parser.add_argument_group("what is kept")
    output.add_argument("--show-prompts", action="store_true", help="print each prompt as the target reads it")
    output.add_argument(
        "--worst",
        type=Path,
        metavar="FILE",
        help=f"write the {USUAL} prompts on which the fastest strategy gains least, as a prompt file to train on",
    )
    output.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    output.add_argument("--trace", type=Path, metavar="FILE", help="write every round of every sample, as JSON lines")
    return parser


def parser_of(command: str, description: str, epilog: str | None = None) -> argparse.ArgumentParser:
    """Make the parser of a command that runs a pair on prompts."""
    parser = Parser(
        prog=f"./drafthouse {command}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    models = parser.add_argument_group("what to run")
    models.add_argument("--pair", metavar="NAME", help="a pair in the box: starter, which is also the default")
    models.add_argument("--target", type=Path, metavar="DIR", help="the target's checkpoint")
    models.add_argument("--draft", type=Path, metavar="DIR", help="the draft's checkpoint; none: the target alone")
    models.add_argument(
        "--other-tokenizer",
        choices=METHODS,
        default="auto",
        help="how a draft with another tokenizer drafts: only tokens that both have (tli), or text that the target's "
        "tokenizer cuts anew (slem); auto, the default, takes tli where both have enough",
    )
    models.add_argument("--prompts", type=Path, metavar="FILE", help="JSONL, JSON, CSV, TSV or text")
    models.add_argument("--form", choices=FORMS, help="what the prompt file's columns are, if not told by their names")
    models.add_argument("--template", type=Path, metavar="FILE", help="chat template, if not the target's own")
    models.add_argument("--limit", type=count_of, metavar="N", help="only the first N prompts (of each split)")
    _add_sampling(parser.add_argument_group("how tokens are chosen"))
    machine = parser.add_argument_group("where it runs")
    machine.add_argument("--device", default="auto", help="auto (the default), cpu, cuda:0, …")
    machine.add_argument("--dtype", default="auto", choices=("auto", "float32", "bfloat16"))
    machine.add_argument(
        "--threads",
        type=count_of,
        metavar="N",
        help="processor threads of each model; all cores but one unless told, fewer where others use them",
    )
    machine.add_argument(
        "--runner", default="auto", choices=("auto", "transformers"), help="auto: our own where it knows the family"
    )
    return parser


def _add_sampling(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-new-tokens", type=whole_number, metavar="N", help="tokens per sample, 128 unless the pair differs"
    )
    group.add_argument(
        "--temperature",
        type=number,
        metavar="T",
        help="0, unless the pair differs, takes the likeliest token",
    )
    group.add_argument(
        "--top-k", type=whole_number, metavar="K", help="of the K likeliest tokens; 0, the default, is all"
    )
    group.add_argument(
        "--top-p", type=number, metavar="P", help="of the likeliest that come to P; 1, the default, is all"
    )
    group.add_argument(
        "--repetition-penalty", type=number, metavar="R", help="1, unless the pair differs, holds nothing back"
    )
    group.add_argument(
        "--dice", choices=("ratio", "shared"), help="shared, the default, gives every strategy the same text"
    )
    group.add_argument("--seed", type=whole_number, metavar="N", help="of the dice, 0 unless given")
    group.add_argument("--stop", action="append", metavar="TEXT", help="end at this text; may be given several times")
    group.add_argument("--ignore-eos", action="store_true", default=None, help="go on after the model's end token")


def count_of(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 1 up")
    return int(text)


def rate_of(text: str) -> tuple[float, float]:
    """Read a rate, or 0 and the speed of recorded arrivals."""
    name, _, speed = text.partition(":")
    recorded = name == RECORDED
    value = number((speed or "1") if recorded else text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number above 0")
    return (0.0, value) if recorded else (value, 0.0)


def list_of(kind: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """Make a reader of comma-separated values."""

    def read(text: str) -> list[Value]:
        return [kind(piece.strip()) for piece in text.split(",")]

    return read


def whole_number(text: str) -> int:
    if not re.fullmatch("-?[0-9]{1,20}", text):
        raise argparse.ArgumentTypeError(f"invalid int value: {text[:40]!r}")
    return int(text)


def number(text: str) -> float:
    if not re.fullmatch("[-+.0-9e]{1,40}", text):
        raise argparse.ArgumentTypeError(f"invalid float value: {text[:40]!r}")
    return float(text)


def _material(given: argparse.Namespace) -> Material:
    if getattr(given, "servers_only", False) and given.pair is None:
        return Material("servers alone", Path(), None, given.prompts)  # no target is opened
    if given.target is None and given.draft is None:
        material = _from_the_box(given.pair or "starter")
    elif given.pair is not None:
        raise BadArguments("--pair names both models; leave out --target and --draft, or leave out --pair.")
    elif given.target is None:
        raise BadArguments("A draft needs a target to draft for: give --target DIR too.")
    elif given.prompts is None:
        raise BadArguments("Models of your own need prompts: give --prompts FILE.")
    else:
        by = f"with {given.draft.name}" if given.draft else "alone"
        material = Material(f"{given.target.name} {by}", given.target, given.draft, given.prompts)
    if given.prompts is not None:
        material = replace(material, prompts=given.prompts, split=None)
    return material


def _from_the_box(name: str) -> Material:
    if name not in BOX:
        raise BadArguments(
            f"There is no pair {name!r} in the box; there is {', '.join(BOX)}. For models of your own, give "
            "--target DIR and, if there is one, --draft DIR."
        )
    return BOX[name]


def _choices(given: argparse.Namespace, servers: Sequence[AskedServer]) -> list[Choice]:
    """Strategies first, servers last. With servers, autoregressive alone runs beside them unless others are named."""
    beside = [server.choice for server in servers]
    if given.strategies is not None:
        return [*parse_choices(given.strategies), *beside]
    if beside:
        return [choose(BASELINE), *beside]
    is_alone = given.target is not None and given.draft is None
    return alone.usual() if is_alone else parse_choices(STRATEGIES_UNLESS_NAMED)


def _served(given: argparse.Namespace, servers: Sequence[AskedServer]) -> tuple[list[Choice], tuple[str, ...]]:
    """Choices of a comparison of servers alone."""
    if not servers:
        raise BadArguments("--servers-only needs servers: give --server ADDRESS,dialect=NAME or --start COMMAND.")
    if any(named is not None for named in (given.strategies, given.target, given.draft, given.template)):
        raise BadArguments(
            "--servers-only loads no model here; leave out --strategies, --target, --draft and --template."
        )
    if given.pair is None and given.prompts is None:
        raise BadArguments("Servers alone need prompts: give --prompts FILE, or --pair starter for those of that pair.")
    remark = "No model runs here, so nobody audits the answers: texts are only compared with the first server's."
    return [server.choice for server in servers], (remark,)


def _require_draft_of(choices: Sequence[Choice], bench: Bench) -> None:
    for choice in choices:
        if choice.spec.needs_draft and bench.material.draft is None:
            raise BadStrategy(f"{alone.why_not(choice.label)} Give --draft DIR, or leave {choice.strategy} out.")


def _with_baseline(choices: list[Choice]) -> tuple[list[Choice], tuple[str, ...]]:
    """Everything is measured against autoregressive, so it takes part whether named or not."""
    if any(choice.spec.role == "baseline" for choice in choices):
        return choices, ()
    baseline = choose(BASELINE)
    return [baseline, *choices], ("autoregressive runs too: it is what the others are compared with.",)


def _pinned(named: str, choices: list[Choice]) -> str:
    """As `?baseline=` of a comparison's page does it; a label may be shortened as strategies may."""
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


def _sampling(given: argparse.Namespace, material: Material) -> Sampling:
    """Take the settings asked for, else those that suit the pair, else the defaults."""
    settings: dict[str, Any] = {}
    if material.settings:
        suited = json.loads(material.settings.read_text())
        settings = {**suited["sampling"], "max_new_tokens": suited["max_new_tokens"]}
    for name in Sampling.__dataclass_fields__:
        if getattr(given, name) is not None:
            settings[name] = getattr(given, name)
    return Sampling.from_dict(settings)

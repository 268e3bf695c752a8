"""The options of every command that runs models: which pair, which prompts, how tokens are chosen, and where it runs.

Standard library only, so that a slip is refused at once and not after torch is loaded."""

from __future__ import annotations

import argparse
import errno
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from decoding.backends import without_draft
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompts
from decoding.prompts.forms import FORMS
from decoding.prompts.prompt import LARGEST_PROMPT_FILE, PromptItem, decode, first_turns, read_prompts
from decoding.vocabularies.shared import METHODS, require_scores
from worker.messages import LocalPair
from worker.terminal.material import Material, material_of
from worker.terminal.options import BadArguments, Parser, count_of

MODEL = "a folder, a GGUF file, or an id of the Hugging Face hub such as org/name or org/name@revision"


@dataclass(frozen=True)
class Bench:
    """A pair, prompts for it, how tokens are chosen and where: what every command needs that runs models."""

    material: Material
    pair: LocalPair  # with the classifier beside it
    prompts: list[PromptItem]
    sampling: Sampling
    threads: int | None


def read_bench(args: argparse.Namespace, *, drafting: str = "", has_turns: bool = False) -> Bench:
    """Read the arguments of `parser_of`. The starter pair names the split that it usually runs on. `drafting` names
    what the command does if it needs a draft. Without `has_turns`, it takes the first turns of conversations."""
    material = material_of(args)
    if drafting and material.draft is None:
        raise BadArguments(f"{without_draft.lacks_draft(drafting)} Give --draft MODEL.")
    material = replace(material, split=(args.split or material.split) if "split" in args else None)
    prompts = read_prompt_file(material.prompts, material.split, args.limit, args.form)
    material = material.as_folders()
    return Bench(
        material=material,
        pair=_pair(args, material),
        prompts=prompts if has_turns else first_turns(prompts),
        sampling=_sampling(args, material),
        threads=args.threads,
    )


def _pair(args: argparse.Namespace, material: Material) -> LocalPair:
    own = material.classifier_at("")
    return LocalPair(
        target=material.target,
        draft=material.draft,
        device=args.device,
        classifiers={"": own} if own else {},
        other_tokenizer=args.other_tokenizer,
        dtype=args.dtype,
        runner=args.runner,
    )


def read_recorded(args: argparse.Namespace, *, drafting: str = "") -> Bench:
    """Read the arguments of a command that records the pair. A draft that matches text (SLEM) cannot be recorded:
    refuse `drafting`, which needs it. The order takes the target alone for anything else."""
    bench = read_bench(args, drafting=drafting)
    report = bench.material.report
    report.require()
    if drafting and report.shared:
        require_scores(report.shared.method(bench.pair.other_tokenizer), drafting)
    return bench


def parser_of(
    command: str, description: str, epilog: str | None = None, *, takes_split: bool = True
) -> argparse.ArgumentParser:
    """Make the parser of a command that runs a pair on prompts."""
    parser = Parser(
        prog=f"./drafthouse {command}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    models = parser.add_argument_group("what to run")
    models.add_argument("--target", type=Path, metavar="MODEL", help=f"the target: {MODEL}; none: the starter pair")
    models.add_argument("--draft", type=Path, metavar="MODEL", help="the draft, likewise; none: the target alone")
    models.add_argument(
        "--other-tokenizer",
        choices=METHODS,
        default="auto",
        help="how a draft with another tokenizer drafts: only tokens that both have (tli), or text that the target's "
        "tokenizer cuts anew (slem); auto, the default, takes tli where both have enough",
    )
    models.add_argument("--prompts", type=Path, metavar="FILE", help="JSONL, JSON, CSV, TSV or text")
    models.add_argument("--form", choices=FORMS, help="what the prompt file's columns are, if names do not say it")
    if takes_split:
        models.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    models.add_argument("--limit", type=count_of, metavar="N", help="only the first N prompts (of each split)")
    _add_sampling(parser.add_argument_group("how tokens are chosen"))
    machine = parser.add_argument_group("where it runs")
    machine.add_argument("--device", default="auto", help="auto (the default), cpu, cuda:0, …")
    machine.add_argument("--dtype", default="auto", choices=("auto", "float32", "bfloat16"))
    machine.add_argument(
        "--threads",
        type=count_of,
        metavar="N",
        help="processor threads of each model; all cores but one by default, fewer where others use them",
    )
    machine.add_argument(
        "--runner", default="auto", choices=("auto", "transformers"), help="auto: our own where it knows the family"
    )
    return parser


def _add_sampling(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--max-new-tokens", type=int, metavar="N", help="tokens per sample, 128 unless the pair differs")
    group.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="0, unless the pair differs, takes the likeliest token",
    )
    group.add_argument("--top-k", type=int, metavar="K", help="of the K likeliest tokens; 0, the default, is all")
    group.add_argument(
        "--top-p", type=float, metavar="P", help="of the likeliest that come to P; 1, the default, is all"
    )
    group.add_argument(
        "--repetition-penalty", type=float, metavar="R", help="1, unless the pair differs, holds nothing back"
    )
    group.add_argument(
        "--dice", choices=("ratio", "shared"), help="shared, the default, gives every strategy the same text"
    )
    group.add_argument("--seed", type=int, metavar="N", help="of the dice, 0 unless given")
    group.add_argument("--stop", action="append", metavar="TEXT", help="end at this text; may be given several times")
    group.add_argument("--ignore-eos", action="store_true", default=None, help="go on after the model's end token")


def _sampling(args: argparse.Namespace, material: Material) -> Sampling:
    """Take the settings asked for, else those that suit the pair, else the defaults."""
    settings: dict[str, Any] = {}
    if material.settings:
        suited = json.loads(material.settings.read_text())
        settings = {**suited["sampling"], "max_new_tokens": suited["max_new_tokens"]}
    for name in Sampling.__dataclass_fields__:
        if getattr(args, name) is not None:
            settings[name] = getattr(args, name)
    return Sampling.from_dict(settings)


def read_prompt_file(path: Path, split: str | None, limit: int | None, form: str | None = None) -> list[PromptItem]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(errno.EINVAL, "it is not a regular file")  # a pipe would be waited for without end
        if path.stat().st_size > LARGEST_PROMPT_FILE:
            raise OSError(errno.EFBIG, f"it has more than {LARGEST_PROMPT_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise BadPrompts(f"{path} cannot be read: {error.strerror}. Give the path of a prompt file.") from None
    prompts = read_prompts(decode(data, path.name), path.name, form=form)
    chosen = [prompt for prompt in prompts if split in (None, prompt.split)]
    if not chosen:
        raise BadPrompts(f"{path.name} has no prompt of the split {split!r}; leave out --split to take them all.")
    return [prompt for number, prompt in _numbered_by_split(chosen) if limit is None or number <= limit]


def _numbered_by_split(prompts: list[PromptItem]) -> Iterator[tuple[int, PromptItem]]:
    """A limit holds for each split, so that none is lost where a command needs them all."""
    seen: Counter[str] = Counter()
    for prompt in prompts:
        seen[prompt.split] += 1
        yield seen[prompt.split], prompt

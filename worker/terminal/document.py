"""The result as a program reads it: docs/compare-json.md says what is in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from decoding.dice.chance import CHANCE_VERSION
from decoding.measure.crossover import across_loads
from decoding.measure.definitions import DEFINITIONS, DEFINITIONS_VERSION
from decoding.measure.latency import overloaded
from decoding.measure.measurement import WARM_UP_TOKENS
from decoding.measure.summary import ENDED, Stage, judge, report
from decoding.measure.verdict import doubts
from decoding.prompts.prompt import PromptItem, first_turns
from webapp.core.version import version
from worker.terminal.arguments import Arguments
from worker.terminal.servers import AskedServer, about

if TYPE_CHECKING:
    from worker.terminal.hearing import Heard

FORMAT = "drafthouse.compare/2"


def document(args: Arguments, heard: Heard, servers: Sequence[AskedServer]) -> dict[str, Any]:
    loaded, samples, noise = heard.loaded, heard.samples, heard.noise
    stage = ENDED if heard.is_complete else Stage(len(first_turns(args.prompts)), repeats=args.repeats)
    judged = judge(args.choices, samples, args.baseline, stage=stage, noises=[noise])
    strategies = report(
        args.choices,
        loaded.runners,
        samples,
        args.baseline,
        args.objective,
        prices=heard.prices,
        hardware=loaded.hardware["by_strategy"],
        judged=judged,
    )
    verdicts = across_loads(strategies, judged)
    return {
        "format": FORMAT,
        "drafthouse": version(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **{name: verdicts[name] for name in ("verdict", "doubt", "ranking")},
        "loads": verdicts["loads"],
        "crossovers": verdicts["crossovers"],
        "objective": args.objective.to_dict(),
        "warnings": [*loaded.warnings, *heard.warnings(), *overloaded(strategies), *doubts(samples)],
        "is_noisy": judged.is_noisy,
        "complete": heard.is_complete,
        "noise": noise,
        "hardware": loaded.hardware,
        "pair": loaded.models and {"name": args.material.name, **loaded.models},
        "servers": [about(server, loaded.serves[server.spec.name]) for server in servers],
        "sampling": {**args.sampling.to_dict(), "chance_version": CHANCE_VERSION},
        "prompts": {
            "file": str(args.material.prompts),
            "split": args.material.split,
            "count": len(args.prompts),
            "repeats": args.repeats,
            "sha256": fingerprint(args.prompts),
        },
        "warm_up_tokens": min(WARM_UP_TOKENS, args.sampling.max_new_tokens),
        "definitions_version": DEFINITIONS_VERSION,
        "definitions": DEFINITIONS,
        "baseline": args.baseline,
        "strategies": strategies,
    }


def write_document(result: Mapping[str, Any], file: TextIO) -> None:
    json.dump(result, file, indent=1, ensure_ascii=False, allow_nan=False)
    file.write("\n")


def fingerprint(prompts: Iterable[PromptItem]) -> str:
    """Tells whether two comparisons had the same prompts."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(prompt.content.encode() + b"\0")
    return digest.hexdigest()

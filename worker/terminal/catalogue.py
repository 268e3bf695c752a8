"""The strategies and what each takes, as `--help` lists them: the data that forms and API are made of."""

from __future__ import annotations

import shutil
import textwrap

from decoding.drafting.params import Param, Value
from decoding.strategies import STRATEGIES


def catalogue() -> str:
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

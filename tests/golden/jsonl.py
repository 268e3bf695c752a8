"""Golden traces as files: one event a line, numbered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from decoding.trace.events import Event, from_dict, to_dict


def write(events: Sequence[Event], path: Path) -> None:
    lines = [json.dumps(to_dict(event, seq), separators=(",", ":")) for seq, event in enumerate(events, 1)]
    path.write_text("".join(f"{line}\n" for line in lines))


def read(path: Path) -> list[Event]:
    return [from_dict(json.loads(line)) for line in path.read_text().splitlines()]

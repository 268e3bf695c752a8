"""Devices that strategies had to themselves, counted from the sentences that state them. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from decoding.choice import Choice


def devices_in(words: str) -> int:
    """Count the devices in `1 core`, `2 cores: target on 0, draft on 1`, `cuda:0`, `cuda:0 for the target, core 1 for
    the draft`."""
    counted = re.match(r"(\d+) cores?\b", words)
    if counted:
        return int(counted[1])
    return 2 if "for the draft" in words else 1


def works_at_once(words: str) -> bool:
    """Say if target and draft work at once: on devices of their own, or on two streams of one."""
    return "for the draft" in words or "draft on" in words


def device_counts(choices: Sequence[Choice], stated: Mapping[str, str]) -> dict[str, int]:
    """Count the devices of each choice whose hardware is stated, by label. Nobody knows those of a server."""
    ours = [choice.label for choice in choices if choice.spec.role != "server"]
    return {label: devices_in(stated[label]) for label in ours if label in stated}


def device_shares(choices: Sequence[Choice], stated: Mapping[str, str]) -> dict[str, float]:
    """Return each choice's devices, in multiples of the fewest at its load; 1 if they are not known."""
    counts, fewest = device_counts(choices, stated), dict[object, int]()
    for choice in choices:
        if count := counts.get(choice.label):
            fewest[choice.load] = min(count, fewest.get(choice.load, count))
    return {c.label: counts[c.label] / fewest[c.load] if c.label in counts else 1.0 for c in choices}

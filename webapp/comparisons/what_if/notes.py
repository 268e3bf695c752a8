"""Sentences below an answer: how much of it is known, and where its prices come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decoding.public import AtLoad, Played, Recorded, Simulation


def _prices(found: Recorded, simulation: AtLoad) -> Iterator[str]:
    """Say which prices of joint passes were measured here, and which are extended."""
    users = simulation.users
    measured = _counted([1, *sorted(found.at)])
    if users in found.at:
        yield f"Passes of {users} texts are priced as measured here."
    elif users < max(found.at, default=1):
        yield f"Passes of {users} texts are priced between those measured here, of {measured} texts."
    else:
        yield (
            f"Nothing here ran with {users} users. Prices are measured for {measured} "
            f"{'texts' if found.at else 'text'} in a pass; beyond that, a row is taken to cost what it costs there."
        )
    yield "Each request counts with its waiting and its prompt, over autoregressive with as many users."


def _counted(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def notes_of(found: Recorded, simulation: Simulation | AtLoad | Played, fit: Mapping[str, Any]) -> Iterator[str]:
    correction = fit["correction"]
    low, high = simulation.possible
    if high > low * 1.005:
        yield (
            f"Where nobody drafted, nothing is known of the draft: between {low * correction:.2f} and "
            f"{high * correction:.2f} times is possible."
        )
    if not found.is_clear:
        yield (
            "Long drafts took no longer than short ones here, which only noise can do: a drafted token is priced by "
            "all drafting shared out over all drafted tokens, so trust no small difference between lookaheads. Repeat "
            "it on a quiet machine, or on more prompts."
        )
    if isinstance(simulation, AtLoad):
        yield from _prices(found, simulation)
    elif simulation.unmeasured > 0:
        yield (
            f"{simulation.unmeasured:.0%} of its verifications have more than {found.widest} rows, the most that was "
            "measured; their price is extended along the last measured ones."
        )
    if abs(correction - 1) > 0.02:
        yield (
            f"Undisturbed passes alone would make it {1 / correction:.2f} times as much. What the strategies that ran "
            "lost beside their passes is taken off here too."
        )
    if isinstance(simulation, Played):
        yield "A miss is answered by the draft model here; what an n-gram would have said is not in the traces."
    if len(simulation.middle) < found.prompt_count:
        yield f"Replayed on {len(simulation.middle)} of {found.prompt_count} prompts, evenly spread."

"""Sentences below an answer: how much of it is known, and where its prices come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decoding.public import AheadPrices, Choice, RecordedComparison, Simulation, remarks_on


def _prices(found: RecordedComparison, simulation: Simulation) -> Iterator[str]:
    """Say which prices of joint passes were measured here, and which are extended."""
    users = simulation.users
    measured = _counted(sorted(found.widest))
    if users in found.widest:
        yield f"Passes of {users} texts are priced as measured here."
    elif users < max(found.widest):
        yield f"Passes of {users} texts are priced between those measured here, of {measured} texts."
    else:
        yield (
            f"Nothing here ran with {users} users. Prices were measured for {measured} "
            f"{'texts' if len(found.widest) > 1 else 'text'} in a pass. The simulation assumes the same price per row "
            "beyond that."
        )
    if found.ahead and simulation.hit_rate is not None:
        yield _preparing(found.ahead, users)
    yield "A request's time includes waiting and reading the prompt. Autoregressive has as many users."


def _preparing(ahead: AheadPrices, users: int) -> str:
    """Say where the price of preparing comes from."""
    if users in ahead.at:
        return f"Preparing is priced as measured here with {users} users."
    known = max((load for load in ahead.at if load < users), default=1)
    return (
        f"Preparing for {users} users is priced as for {known}: all texts share the branches, so a joint pass of the "
        "draft has as many rows for any number of users."
    )


def _counted(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _not_in_traces(found: RecordedComparison, choice: Choice) -> Iterator[str]:
    """Say what stands for something that the traces do not hold."""
    if choice.spec.prepares_ahead:
        backup = str(choice.all_params["backup"])
        if not found.can_replay_backup(backup):
            yield f"After a miss, the simulation uses the draft model: no trace tells what backup={backup} drafts here."
    if choice.sees == "estimate":
        yield (
            "The draft's own probability stands for the classifier's estimate of each token that the draft model adds: "
            "the traces do not hold what the classifier sees of these."
        )


def _left_out(choice: Choice, fit: Mapping[str, Any]) -> Iterator[str]:
    """Name the settings that cannot be replayed: those that ran, or else that of the strategy in question."""
    ran = [Choice.of(row) for row in fit["measured"]]
    missing = {one.label: one.spec.why_not for one in ran if one.needs_likelihoods}
    if choice.spec.not_in_traces and not missing:
        missing[choice.spec.not_in_traces] = choice.spec.why_not
    yield from (f"{label} is left out: {why}." for label, why in missing.items())


def notes_of(
    found: RecordedComparison,
    choice: Choice,
    simulation: Simulation,
    fit: Mapping[str, Any],
) -> Iterator[str]:
    correction = fit["correction"]
    low, high = simulation.possible
    if high > low * 1.005:
        yield (
            f"No strategy drafted at some positions, so anything from {low * correction:.2f} to "
            f"{high * correction:.2f} times is possible."
        )
    if not found.is_clear:
        yield (
            "Long drafts took no longer than short ones here, so the measurements are noisy. Every drafted token "
            "gets the mean price, so do not rely on small differences between lookaheads. Repeat the comparison on a "
            "quiet machine or on more prompts."
        )
    if simulation.users > 1:
        yield from _prices(found, simulation)
    elif simulation.unmeasured > 0:
        yield (
            f"{100 * simulation.unmeasured:.0f} % of its verifications have more than {found.widest[1]} rows. Their "
            "price is extrapolated, because no wider one was measured."
        )
    if abs(correction - 1) > 0.02:
        yield (
            f"The passes alone would give a speed-up {1 / correction:.2f} times as large. The simulation corrects for "
            "the time that measured strategies spend between passes."
        )
    yield from _not_in_traces(found, choice)
    yield from _left_out(choice, fit)
    yield from remarks_on([choice])
    yield found.costs.about_context["sentence"]
    if len(simulation.middle) < found.prompt_count:
        yield f"Replayed on {len(simulation.middle)} of {found.prompt_count} prompts, evenly spread."

"""Settings to copy into other engines: what a verdict names, in their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.public import Choice, ranked
from webapp.comparisons.models import Run


@dataclass(frozen=True, slots=True)
class Advice:
    """The fastest setting of a load that other engines can do."""

    setting: str
    load: str
    is_sure: bool  # it is shown to be faster than the baseline
    instead_of: str  # the setting that the verdict names, if no other engine can do that
    elsewhere: list[dict[str, str]]


def advice(report: Mapping[str, Any], runs: Sequence[Run]) -> list[Advice]:
    """Return what to set for each load of a report whose verdict names a strategy; a setting once."""
    choices = {run.label: run.choice for run in runs}
    found = {one.setting: one for load in reversed(report["loads"]) for one in _of_load(load, report, choices)}
    return list(reversed(found.values()))


def _of_load(load: Mapping[str, Any], report: Mapping[str, Any], choices: Mapping[str, Choice]) -> Iterator[Advice]:
    leader = choices.get(load["ranking"]["leader"] or "")
    if leader is None:
        return
    here = [row for row in report["strategies"] if choices[row["label"]].load == leader.load]
    faster = [row for row in ranked(here) if row["label"] != load["baseline"] and row["speedup"]["ratio"] > 1]
    for row in faster:
        choice = choices[row["label"]]
        if elsewhere := choice.elsewhere():
            is_sure = (row["speedup"]["low"] or 0) > 1
            instead_of = leader.settings if choice != leader else ""
            yield Advice(choice.settings, str(leader.load), is_sure, instead_of, elsewhere)
            return

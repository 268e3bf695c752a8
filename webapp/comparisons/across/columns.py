"""Columns of the table of runs, as data: their names, and the paths of their values."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from decoding.public import DEFINITIONS, STRATEGIES
from webapp.comparisons.figures import TIMES

Kind = Literal["text", "number", "times", "share", "count", "date", "state", "exactness", "noise", "conditions"]
NUMERIC = ("number", "times", "share", "count")


@dataclass(frozen=True, slots=True)
class RunColumn:
    name: str  # in the address, the API and the CSV
    title: str
    source: str  # path of the value, in Django's spelling
    kind: Kind
    help: str = ""
    is_usual: bool = True  # shown unless columns are chosen

    @property
    def is_number(self) -> bool:
        """Whether runs can be filtered by its range."""
        return self.kind in NUMERIC

    def written(self, value: Any) -> str:
        """A number as the table writes it."""
        if value is None:
            return "–"
        if isinstance(value, str):
            return value  # a parameter that is left open
        if self.kind == "share":
            return f"{100 * value:.0f}\u202f%"
        if self.kind == "times":
            return f"{value:.2f}×"
        if self.kind == "count" or abs(value) >= 100:
            return f"{value:,.0f}"
        digits = 0 if value == round(value) else 1 if abs(value) >= 10 else 2
        return f"{value:.{digits}f}"

    def of(self, row: Mapping[str, Any]) -> Any:
        """The value in a row that was read of this column's `stored_in`."""
        column, key = _place(self.source)
        return row[column].get(key) if key else row[column]

    @property
    def stored_in(self) -> str:
        """Column of the database, which may hold more than this value."""
        return _place(self.source)[0]


@functools.cache
def _place(source: str) -> tuple[str, str]:
    """Column of the database, and the key in it if it holds JSON."""
    for column in ("params", "comparison__sampling"):
        if source.startswith(f"{column}__"):
            return column, source.removeprefix(f"{column}__")
    return source, ""


def _params() -> list[RunColumn]:
    """Make a column for each number that strategies take; parameters of the same name share one."""
    numbers = {p.name: p.help for spec in STRATEGIES.values() for p in spec.params if p.kind in ("int", "float")}
    return [RunColumn(name, name, f"params__{name}", "number", help, is_usual=False) for name, help in numbers.items()]


def _latencies() -> list[RunColumn]:
    """Make the columns of waiting times, in ms."""
    times = {"queued": "Queue", "ttft": "First token", "tpot": "Per token", "gap": "Gap", "e2e": "End to end"}
    return [
        RunColumn(time, f"{times[name]} {p}, ms", f"figures__{time}", "number", DEFINITIONS[f"{name}_ms"], False)
        for time in TIMES
        for name, p in (time.split("_"),)
    ]  # fmt: skip


COLUMNS: dict[str, RunColumn] = {
    column.name: column
    for column in (
        RunColumn("comparison", "Comparison", "comparison__name", "text"),
        RunColumn("state", "State", "comparison__job__state", "state", is_usual=False),
        RunColumn("pair", "Pair", "comparison__pair__name", "text"),
        RunColumn("dataset", "Prompts", "comparison__dataset__name", "text"),
        RunColumn("conditions", "Alike", "figures__conditions_id", "conditions",
               "runs with the same letter can be compared: they share models, prompts, sampling, load and device"),
        RunColumn("concurrency", "Users", "concurrency", "count", DEFINITIONS["concurrency"], is_usual=False),
        RunColumn("rate", "Requests/s", "rate", "number", DEFINITIONS["rate"], is_usual=False),
        *_params(),
        RunColumn("speedup", "Speed-up", "figures__speedup", "times", DEFINITIONS["speedup"]),
        RunColumn("speedup_low", "at least", "figures__speedup_low", "times",
               "the low end of its 95 % interval", is_usual=False),
        RunColumn("speedup_high", "at most", "figures__speedup_high", "times",
               "the high end of its 95 % interval", is_usual=False),
        RunColumn("tokens_per_s", "Tokens/s", "figures__tokens_per_s", "number", DEFINITIONS["tokens_per_s"]),
        RunColumn("tokens_per_s_device", "Tokens/s/device", "figures__tokens_per_s_device", "number",
               DEFINITIONS["tokens_per_s_device"], is_usual=False),
        RunColumn("tokens_per_s_user", "Tokens/s/user", "figures__tokens_per_s_user", "number",
               DEFINITIONS["tokens_per_s_user"], is_usual=False),
        RunColumn("goodput", "Goodput", "figures__goodput", "share", DEFINITIONS["goodput"], is_usual=False),
        *_latencies(),
        RunColumn("mean_acceptance_length", "Per draft", "figures__mean_acceptance_length", "number",
               DEFINITIONS["mean_acceptance_length"]),
        RunColumn("draft_acceptance_rate", "Accepted", "figures__draft_acceptance_rate", "share",
               DEFINITIONS["draft_acceptance_rate"]),
        RunColumn("draft_share", "Drafting", "figures__draft_share", "share", DEFINITIONS["draft_share"]),
        RunColumn("draft_passes", "Draft passes", "figures__draft_passes", "number",
               "passes of the draft model per generated token", is_usual=False),
        RunColumn("verify_share", "Verifying", "figures__verify_share", "share", DEFINITIONS["verify_share"],
               is_usual=False),
        RunColumn("exactness", "Text", "figures__exactness", "exactness", DEFINITIONS["audit"]),
        RunColumn("noisy_count", "Noisy", "figures__noisy_count", "noise",
               "samples during which other programs used the machine"),
        RunColumn("sample_count", "Samples", "figures__sample_count", "count", is_usual=False),
        RunColumn("device", "Hardware", "figures__conditions__device", "text", is_usual=False),
        RunColumn("versions", "Versions", "figures__versions", "text", is_usual=False),
        RunColumn("temperature", "Temperature", "comparison__sampling__temperature", "number", is_usual=False),
        RunColumn("created", "Launched", "created", "date"),
    )
}  # fmt: skip
RANGED = [column for column in COLUMNS.values() if column.is_number]
USUAL = [column.name for column in COLUMNS.values() if column.is_usual]
ORDERS = {
    **{name: name for name in ("label", "strategy", "number")},
    **{name: column.source for name, column in COLUMNS.items() if column.kind != "conditions"},
}


def chosen(names: Sequence[str]) -> list[RunColumn]:
    """Return the chosen columns in the table's own order."""
    known = [column for name, column in COLUMNS.items() if name in names]
    return known or [COLUMNS[name] for name in USUAL]

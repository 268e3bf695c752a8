"""Parts of the page of runs as HTML. It has hundreds of them, and a template takes ten times as long for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from decoding.public import STRATEGIES
from webapp.comparisons.across.columns import RunColumn
from webapp.comparisons.across.rows import RunRow, names_of
from webapp.comparisons.models import Conditions, Exactness
from webapp.core.templatetags.ui import ago, count
from webapp.jobs.models import JobState

NOBODY = str(UUID(int=0))  # addresses resolved one by one would take as long as the rows
NONE = mark_safe("<td>–</td>")
OWN_DRAWS = "draws of its own from the same distribution, so not compared word for word"
STATES = {JobState.SUCCEEDED: "good", JobState.FAILED: "bad", JobState.RUNNING: "warn"}
TEXTS = {
    Exactness.IDENTICAL: mark_safe('<td><span class="good">identical</span></td>'),
    Exactness.TIE: mark_safe('<td><span class="warn">ties</span></td>'),
    Exactness.DIVERGENT: mark_safe('<td><span class="bad">diverges</span></td>'),
    Exactness.NOT_COMPARED: format_html('<td><span class="quiet" title="{}">own draws</span></td>', OWN_DRAWS),
}
HEAD = """<tr class="s-{strategy}">
<th scope="row"><a href="{address}" hx-boost="false" title="{label}" data-row>
<svg class="mark" aria-hidden="true"><use href="{marks}#{strategy}"/></svg>{name}</a></th>
{cells}</tr>
"""


@dataclass(frozen=True, slots=True)
class RunTable:
    shown: Sequence[RunColumn]
    known: Mapping[UUID, tuple[str, Conditions]]  # with their letters
    alike: str  # address of the runs under conditions whose id follows

    def written(self, rows: Sequence[RunRow]) -> list[SafeString]:
        marks, page, names = static("marks.svg"), reverse("comparison", args=[NOBODY]), names_of(rows)
        return [
            format_html(
                HEAD, strategy=row["strategy"], name=names[row["pk"]], label=row["label"], marks=marks,
                address=page.replace(NOBODY, str(row["comparison_id"])),
                cells=mark_safe("\n".join(self._cell(column, row) for column in self.shown)),
            )
            for row in rows
        ]  # fmt: skip

    def _cell(self, column: RunColumn, row: RunRow) -> SafeString:
        value = column.of(row)
        if column.kind == "conditions":
            return self._letter(self.known.get(value))
        if column.name == "speedup" and value is not None:
            return _speedup(column.written(value), row)
        if column.is_number:
            return format_html('<td class="num">{}</td>', column.written(value))
        return OTHERS[column.kind](value, row)

    def _letter(self, known: tuple[str, Conditions] | None) -> SafeString:
        if known is None:
            return NONE
        letter, conditions = known
        link = f"{self.alike}{conditions.pk}"
        return format_html('<td><a href="{}" title="{}">{}</a></td>', link, conditions, letter)


def letter(at: int) -> str:
    """A, B, … Z, AA, AB, …: by the age of conditions, so that no filter changes their letters."""
    return (letter(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def _speedup(written: str, row: RunRow) -> SafeString:
    low, high = row["figures__speedup_low"], row["figures__speedup_high"]
    if STRATEGIES[row["strategy"]].role == "baseline":
        about = "baseline"
    elif low is None or high is None:
        about = "too few prompts"
    else:
        about = f"{low:.2f}–{high:.2f}"
    return format_html('<td class="num"><b>{}</b>\n<span class="quiet">{}</span></td>', written, about)


def _noise(noisy_count: int | None, row: RunRow) -> SafeString:
    if not noisy_count:
        return format_html('<td class="num">{}</td>', "–" if noisy_count is None else 0)
    of = count(row["figures__sample_count"])
    return format_html('<td class="num"><span class="warn">{} of {}</span></td>', count(noisy_count), of)


def _state(state: JobState, row: RunRow) -> SafeString:
    return format_html('<td><span class="{}">{}</span></td>', STATES.get(state, "quiet"), state)


def _text(value: Any, row: RunRow) -> SafeString:
    title = format_html(' title="{}"', value) if value else ""
    return format_html('<td class="words"{}>{}</td>', title, value or "–")


OTHERS: dict[str, Callable[[Any, RunRow], SafeString]] = {
    "state": _state,
    "exactness": lambda value, row: TEXTS.get(value, NONE),
    "noise": _noise,
    "date": lambda value, row: format_html("<td>{}</td>", ago(value)),
    "text": _text,
}

"""Parts of the page of runs as HTML. It has hundreds of them, and a template takes ten times as long for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from webapp.comparisons.across.columns import RunColumn
from webapp.comparisons.across.naming import page_of
from webapp.comparisons.models import Conditions, Exactness, Run
from webapp.core.templatetags.ui import ago, count
from webapp.jobs.models import JobState

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
<th scope="row"><input type="checkbox" name="run" value="{pk}" aria-label="Choose {name} of {comparison}">
<a href="{address}" hx-boost="false" title="{label}" data-row>
<svg class="mark" aria-hidden="true"><use href="{marks}#{strategy}"/></svg>{name}</a></th>
{cells}</tr>
"""


@dataclass(frozen=True, slots=True)
class RunTable:
    shown: Sequence[RunColumn]
    known: dict[UUID, Conditions]  # the newest first
    alike: str  # address of the runs under conditions whose id follows
    letters: dict[UUID, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Name conditions by their age, so that no filter changes a letter."""
        self.letters.update((pk, letter(at)) for at, pk in enumerate(reversed(self.known)))

    def rows(self, runs: Sequence[Run], names: Mapping[UUID, str]) -> list[SafeString]:
        marks = static("marks.svg")
        return [
            format_html(
                HEAD, strategy=run.strategy, pk=run.pk, name=names[run.pk], comparison=run.comparison.name,
                address=page_of(run), label=run.label, marks=marks,
                cells=mark_safe("\n".join(self._cell(column, run) for column in self.shown)),
            )
            for run in runs
        ]  # fmt: skip

    def _cell(self, column: RunColumn, run: Run) -> SafeString:
        value = column.of(run)
        if column.kind == "conditions":
            return self._letter(self.known.get(value))
        if column.name == "speedup" and value is not None:
            return _speedup(column.written(value), run)
        if column.is_number:
            return format_html('<td class="num">{}</td>', column.written(value))
        return OTHERS[column.kind](value, run)

    def _letter(self, under: Conditions | None) -> SafeString:
        if under is None:
            return NONE
        link = f"{self.alike}{under.pk}"
        return format_html('<td><a href="{}" title="{}">{}</a></td>', link, under, self.letters[under.pk])


def letter(at: int) -> str:
    """A, B, … Z, AA, AB, …"""
    return (letter(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def _speedup(written: str, run: Run) -> SafeString:
    figures = run.figures
    if run.choice.spec.role == "baseline":
        about = "baseline"
    elif figures.speedup_low is None or figures.speedup_high is None:
        about = "too few prompts"
    else:
        about = f"{figures.speedup_low:.2f}–{figures.speedup_high:.2f}"
    return format_html('<td class="num"><b>{}</b>\n<span class="quiet">{}</span></td>', written, about)


def _noise(noisy_count: int | None, run: Run) -> SafeString:
    if not noisy_count:
        return format_html('<td class="num">{}</td>', "–" if noisy_count is None else 0)
    of = count(run.figures.sample_count)
    return format_html('<td class="num"><span class="warn">{} of {}</span></td>', count(noisy_count), of)


def _state(state: JobState, run: Run) -> SafeString:
    return format_html('<td><span class="{}">{}</span></td>', STATES.get(state, "quiet"), state)


def _text(value: Any, run: Run) -> SafeString:
    title = format_html(' title="{}"', value) if value else ""
    return format_html('<td class="words"{}>{}</td>', title, value or "–")


OTHERS: dict[str, Callable[[Any, Run], SafeString]] = {
    "state": _state,
    "exactness": lambda value, run: TEXTS.get(value, NONE),
    "noise": _noise,
    "date": lambda value, run: format_html("<td>{}</td>", ago(value)),
    "text": _text,
}

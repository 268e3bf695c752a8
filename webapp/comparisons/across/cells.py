"""Parts of the page of runs as HTML. It has hundreds of them, and a template takes ten times as long for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from webapp.comparisons.across.charts import Group
from webapp.comparisons.across.columns import RunColumn
from webapp.comparisons.across.naming import page_of
from webapp.comparisons.models import Exactness, Run
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
GROUP = """<li>
<a href="{}"{}><b>{}</b>
{}</a><span class="quiet">{}</span></li>"""


@dataclass(frozen=True, slots=True)
class RunTable:
    shown: Sequence[RunColumn]
    groups: Mapping[UUID, Group]  # by their conditions
    alike: str  # address of the runs under conditions whose id follows

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

    def choices(self, chosen: Group | None) -> SafeString:
        """Links to the runs under each conditions, as entries of a list."""
        return format_html_join("\n", GROUP, (
            (f"{self.alike}{pk}", mark_safe(' aria-current="true"') if group is chosen else "", group.letter,
             group.sentence, count(group.count))
            for pk, group in self.groups.items()
        ))  # fmt: skip

    def _cell(self, column: RunColumn, run: Run) -> SafeString:
        value = column.of(run)
        if column.kind == "conditions":
            return self._letter(self.groups.get(value))
        if column.name == "speedup" and value is not None:
            return _speedup(column.written(value), run)
        if column.is_number:
            return format_html('<td class="num">{}</td>', column.written(value))
        return OTHERS[column.kind](value, run)

    def _letter(self, group: Group | None) -> SafeString:
        if group is None:
            return NONE
        link = f"{self.alike}{group.conditions.pk}"
        return format_html('<td><a href="{}" title="{}">{}</a></td>', link, group.sentence, group.letter)


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

"""The few template tags that our pages use."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from webapp.core.forms import Form, FormField
from webapp.core.naming import marks

register = template.Library()
TYPED = re.compile(r"`([^`]*)`")


@register.inclusion_tag("core/_field.html")
def field(field: FormField) -> dict[str, Any]:
    return {"field": field}


@register.inclusion_tag("core/_form.html", takes_context=True)
def form(context: Context, form: Form, submit: str, **options: Any) -> dict[str, Any]:
    """Draw a whole form: its errors, its fields, one button. `api` adds "copy as curl, CLI or Python"."""
    return {"form": form, "submit": submit, "request": context["request"], **options}


@register.inclusion_tag("core/_code.html", takes_context=True)
def as_code(context: Context, form: Form, api: str, method: str = "POST") -> dict[str, Any]:
    """Draw the same request for scripts, with the form's values. live.js asks for it again after each change."""
    url = context["request"].build_absolute_uri(api)
    return {"url": url, "method": method, "body": json.dumps(form.body, ensure_ascii=False, default=str)}


@register.simple_tag
def fold(form: Form, name: str, *names: str) -> SafeString:
    """Attributes of a `details` that holds fields: open if it was open, or if something in it is wrong."""
    is_open = name in form.unfolded or any(form.errors.get(each) for each in names)
    return format_html('data-fold="{}"{}', name, " open" if is_open else "")


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """Return the page's query string with some values changed, back on the first page unless `page` is given."""
    kept = [(name, values) for name, values in context["request"].GET.lists() if name not in {*changes, "page"}]
    changed = [(name, value) for name, value in changes.items() if value not in (None, "")]
    return f"?{urlencode([*kept, *changed], doseq=True)}"


@register.simple_tag(takes_context=True)
def column(context: Context, name: str, title: str, css: str = "", about: str = "") -> SafeString:
    """A table heading that sorts; `about` stands beside its link."""
    now = context["request"].GET.get("ordering", "")
    following = f"-{name}" if now == name else name
    mark, sort = {name: ("↑", "ascending"), f"-{name}": ("↓", "descending")}.get(now, ("", "none"))
    link = query(context, ordering=following)
    return format_html(
        '<th scope="col" class="{}" aria-sort="{}"><a href="{}">{} <span aria-hidden="true">{}</span></a>{}</th>',
        css, sort, link, title, mark, about,
    )  # fmt: skip


@register.simple_tag
def options(choices: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """Options of a select. A template takes ten times as long for each, and there may be hundreds."""
    marks = {chosen: SafeString(" selected")}
    return format_html_join("", '<option value="{}"{}>{}</option>', ((v, marks.get(v, ""), t) for v, t in choices))


@register.filter
def apart(row: Any, rows: Sequence[Any]) -> SafeString:
    """Show what tells a row from others of the list that have its name."""
    alike = [each for each in rows if each.name == row.name]
    mark = marks([row.name] * len(alike), alike)[alike.index(row)]
    return format_html(' <span class="quiet">{}</span>', mark) if mark else SafeString("")


@register.filter
def ago(moment: Any) -> SafeString | str:
    """Show how long ago (or ahead) a moment is, with the exact time as a tooltip."""
    if moment is None:
        return "never"
    seconds = (timezone.now() - moment).total_seconds()
    size = abs(seconds)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if size >= length:
            words = f"{round(size / length) if seconds < 0 else int(size // length)} {unit}"
            break
    else:
        words = "a moment"
    sentence = f"in {words}" if seconds < 0 else f"{words} ago"
    exact = f"{moment:%Y-%m-%d %H:%M} UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, sentence)


@register.filter
def size(count: int | None) -> str:
    value = float(count or 0)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return ""


@register.filter
def count(number: Any) -> str:
    """Write a number with commas between thousands."""
    return f"{number:,}" if isinstance(number, int) else "–"


@register.filter
def minutes(number: float) -> str:
    """Write a duration that is given in minutes."""
    if number < 1:
        return f"{max(round(60 * number), 1)} s"
    return f"{number:.0f} min" if number < 90 else f"{number / 60:.1f} h"


@register.filter
def coded(sentence: str) -> SafeString:
    """Show text between backticks as code."""
    return SafeString(TYPED.sub(r"<code>\1</code>", escape(sentence)))


@register.filter
def quotable(body: str) -> str:
    """Escape apostrophes in JSON, which stays the same, so that none ends the quotes around it in a shell or in
    Python."""
    return body.replace("'", "\\u0027")


@register.filter
def words(name: str) -> str:
    """Write the name of a setting for people, without its unit, which stands beside the value."""
    return name.removesuffix("_bytes").replace("_", " ")


@register.filter
def plain(value: Any) -> Any:
    """A setting as people write it: yes, no, a list with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else value

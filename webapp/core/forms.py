"""HTML forms made from the API's serializers, so that a page and the API can never disagree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest, QueryDict
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.settings import api_settings

from webapp.core.problems import Problem, TooMany

T = TypeVar("T")
DESCRIBE = "describe"  # live.js posts a form with it: show the form with its request, and do nothing
USE_SAMPLING = "use-sampling"  # its value that also fills in the sampling of the classifier that decides
FOLDS = "unfolded"  # names of the folded parts that were open
WHOLE = api_settings.NON_FIELD_ERRORS_KEY  # errors of the whole body
HIDDEN = "…"  # in place of a secret, where a request is shown
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?")


@dataclass(frozen=True, slots=True)
class FormField:
    name: str
    label: str
    help: str
    kind: str  # text | password | textarea | number | select | checkbox
    value: Any
    choices: list[tuple[str, str]]
    required: bool
    errors: list[str]
    low: Any = None
    high: Any = None
    longest: int | None = None
    blocked: Collection[str] = ()  # choices that are shown but cannot be taken
    depends: bool = False  # its choices change with other fields

    can_be_empty: bool = False
    typed: str = ""  # what may be typed in place of a choice

    @property
    def text(self) -> str:
        """The value, if it was typed."""
        return "" if any(key == str(self.value) for key, _ in self.choices) else str(self.value)

    @property
    def needs_blank(self) -> bool:
        """Whether a select shows an empty choice besides its own."""
        is_open = self.can_be_empty or not self.value or self.value in self.blocked or bool(self.typed and self.text)
        return is_open and all(key for key, _ in self.choices)

    @property
    def step(self) -> str:
        return "any" if isinstance(self.low, float) or isinstance(self.high, float) else "1"


class Form:
    """Fields to draw, and one `submit` that validates, acts, and puts every refusal beside its field."""

    def __init__(
        self,
        kind: type[serializers.Serializer[Any]],
        request: HttpRequest | None = None,
        *,
        initial: Mapping[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        nested: Mapping[str, type[serializers.Serializer[Any]]] | None = None,
        **context: Any,
    ) -> None:
        """Make the form. `nested` fields are boxes of their own, named `outer.inner`; `data` replaces the POST for a
        page that reads it itself."""
        self.blank = kind(context=context)
        self.initial = dict(initial or {})
        self.nested = dict(nested or {})
        self.data = data
        posted = request.POST if request is not None and request.method == "POST" else QueryDict()
        if data is None and request is not None and request.method == "POST":
            self.data = self._plain(posted)
        self.is_described = DESCRIBE in posted
        self.takes_sampling = posted.get(DESCRIBE) == USE_SAMPLING
        self.unfolded = set(posted.getlist(FOLDS))
        is_bound = self.data is not None and not self.is_described
        self.bound = kind(data=self.data, context=context) if is_bound else None
        self.errors: dict[str, list[str]] = {}
        self.hint = ""
        self.problem: Problem | None = None  # that refused the last `submit`
        self.offers: dict[str, list[tuple[str, str]]] = {}

    def submit(self, act: Callable[..., T]) -> T | None:
        """Call `act` with the validated values. None means: show the form again, with its errors."""
        if self.bound is None:
            return None
        if not self.bound.is_valid():
            self.errors = {name: _sentences(detail) for name, detail in self.bound.errors.items()}
            return None
        try:
            return act(**self.bound.validated_data)
        except TooMany:
            raise  # no other value would help
        except Problem as problem:
            name = problem.field.split(".")[0]
            self.errors = {name if name in self.blank.fields else "": [problem.detail]}
            self.hint, self.problem = problem.hint, problem
            return None

    @property
    def body(self) -> dict[str, Any]:
        """The JSON body that asks the API for what this form asks for, without secrets."""
        if self.data is not None:
            return {name: HIDDEN if value and self._is_secret(name) else value for name, value in self.data.items()}
        plain = (field for field in self if field.name not in self.nested)
        shown = {field.name: typed(self.blank.fields[field.name], field.value) for field in plain}
        boxes = {outer: typed_all(kind().fields, self.initial.get(outer) or {}) for outer, kind in self.nested.items()}
        return {**{name: value for name, value in shown.items() if value not in ("", None)},
                **{outer: values for outer, values in boxes.items() if values}}  # fmt: skip

    def _is_secret(self, name: str) -> bool:
        return name in self.blank.fields and _kind(self.blank.fields[name]) == "password"

    @property
    def refusal(self) -> str:
        """All errors in one line, for a form too small to show them beside its fields."""
        sentences = [sentence for found in self.errors.values() for sentence in found]
        return " ".join([*sentences, self.hint]).strip()

    @property
    def general_errors(self) -> list[str]:
        return [
            *self.errors.get("", []),
            *self.errors.get(WHOLE, []),
            *(
                f"{name}: {s}"
                for name, found in self.errors.items()
                if name not in ("", WHOLE) and name not in self.blank.fields
                for s in found
            ),
        ]

    def __iter__(self) -> Iterator[FormField]:
        return (self[name] for name, field in self.blank.fields.items() if not field.read_only)

    def __getitem__(self, name: str) -> FormField:
        field = self.blank.fields[name]
        choices = self._choices(name)
        blocked = field.blocked(self._now) if hasattr(field, "blocked") else ()
        kind, value = _kind(field), self._value(name, field)
        if value == "" and kind == "select" and field.required and self.data is None:
            value = _only(choices, blocked)
        return FormField(
            name=name,
            label=str(field.label),
            help=str(field.help_text or ""),
            kind=kind,
            value=value,
            choices=choices,
            required=field.required and not isinstance(field, serializers.BooleanField),
            errors=self.errors.get(name, []),
            low=getattr(field, "min_value", None),
            high=getattr(field, "max_value", None),
            longest=None if isinstance(field, serializers.ListField) else getattr(field, "max_length", None),
            blocked=blocked,
            depends=hasattr(field, "offered") or hasattr(field, "blocked"),
            can_be_empty=not field.required and field.default in (empty, None, ""),
            typed=getattr(field, "typed", ""),
        )

    def _choices(self, name: str) -> list[tuple[str, str]]:
        """Choices of a field. One with `offered` has those only in a form, where they may depend on other fields."""
        if name not in self.offers:
            field = self.blank.fields[name]
            known = [(str(key), str(label)) for key, label in getattr(field, "choices", {}).items()]
            offered = list(field.offered(self._now)) if hasattr(field, "offered") else known
            now = str(self._value(name, field))
            self.offers[name] = offered + [each for each in known if each[0] == now and each not in offered]
        return self.offers[name]

    def _now(self, name: str) -> str:
        """Return what the form holds in another field."""
        return str(self[name].value)

    def _value(self, name: str, field: serializers.Field[Any, Any, Any, Any]) -> Any:
        value = self.initial.get(name, field.default) if self.data is None else self.data.get(name, "")
        if isinstance(field, serializers.ListField):
            return ", ".join(map(str, value)) if isinstance(value, list) else ""
        return "" if value is empty or value is None else value

    def only(self, *names: str) -> Iterator[FormField]:
        return (self[name] for name in names)

    def fill(self, outer: str, values: Mapping[str, Any]) -> None:
        """Fill in boxes of a nested field, and show them."""
        held = self.initial if self.data is None else self.data
        held[outer] = {**(held.get(outer) or {}), **values}
        self.unfolded.add(outer)

    def _plain(self, posted: QueryDict) -> dict[str, Any]:
        """Convert posted texts into what JSON would hold: an empty box is a missing value, an absent checkbox is
        false."""
        plain: dict[str, Any] = {}
        for name, field in self.blank.fields.items():
            if isinstance(field, serializers.BooleanField):
                plain[name] = name in posted
            elif name not in self.nested and (given := posted.get(f"{name}.typed", "") or posted.get(name, "")):
                plain[name] = typed(field, given)
        for outer, kind in self.nested.items():
            values = {str(name): posted.get(f"{outer}.{name}", "") for name in kind().fields}
            if filled := typed_all(kind().fields, values):
                plain[outer] = filled
        return plain

    def boxes(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, label and value of each nested box."""
        for outer, kind in self.nested.items():
            values = (self.data or self.initial).get(outer) or {}
            for name in map(str, kind().fields):
                yield f"{outer}.{name}", name, values.get(name, "")


def typed(field: Any, text: Any) -> Any:
    """Convert a posted text into what JSON would hold. A text that is no number stays, and is refused if one is due."""
    if isinstance(field, serializers.ListField):
        return text if isinstance(text, list) else [typed(field.child, one) for one in listed(text)]
    is_number = isinstance(field, (serializers.IntegerField, serializers.FloatField))
    if is_number and isinstance(text, str) and NUMBER.fullmatch(text.strip()):
        return json.loads(text)
    return text


def typed_all(fields: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert all values that were given."""
    return {name: typed(fields[name], value) for name, value in values.items() if name in fields and value != ""}


def listed(text: str) -> list[str]:
    return [value.strip() for value in text.split(",") if value.strip()]


def _only(choices: list[tuple[str, str]], blocked: Collection[str]) -> str:
    """Return the choice that can be taken, if there is only one."""
    free = [key for key, _ in choices if key and key not in blocked]
    return free[0] if len(free) == 1 else ""


def _kind(field: serializers.Field[Any, Any, Any, Any]) -> str:
    if template := field.style.get("as"):
        return str(template)
    if isinstance(field, serializers.BooleanField):
        return "checkbox"
    if hasattr(field, "offered") or isinstance(field, (serializers.ChoiceField, serializers.RelatedField)):
        return "select"
    return "number" if isinstance(field, (serializers.IntegerField, serializers.FloatField)) else "text"


def _sentences(detail: Any) -> list[str]:
    if isinstance(detail, Mapping):
        return [f"{_entry(key)}: {sentence}" for key, inner in detail.items() for sentence in _sentences(inner)]
    return [str(sentence) for sentence in detail] if isinstance(detail, list) else [str(detail)]


def _entry(key: Any) -> str:
    """Name a field, or the place in a list."""
    return f"Entry {key + 1}" if isinstance(key, int) else str(key)

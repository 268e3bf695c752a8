"""HTML forms made from the API's serializers, so that a page and the API can never disagree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest, QueryDict
from rest_framework import serializers
from rest_framework.fields import empty

from webapp.core.problems import Problem, TooMany

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field:
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
        if data is None and request is not None and request.method == "POST":
            self.data = self._plain(request.POST)
        self.bound = kind(data=self.data, context=context) if self.data is not None else None
        self.errors: dict[str, list[str]] = {}
        self.hint = ""

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
            self.hint = problem.hint
            return None

    @property
    def refusal(self) -> str:
        """All errors in one line, for a form too small to show them beside its fields."""
        told = [sentence for sentences in self.errors.values() for sentence in sentences]
        return " ".join([*told, self.hint]).strip()

    @property
    def general_errors(self) -> list[str]:
        return [
            *self.errors.get("", []),
            *(
                f"{name}: {s}"
                for name, found in self.errors.items()
                if name and name not in self.blank.fields
                for s in found
            ),
        ]

    def __iter__(self) -> Iterator[Field]:
        return (self[name] for name, field in self.blank.fields.items() if not field.read_only)

    def __getitem__(self, name: str) -> Field:
        field = self.blank.fields[name]
        choices = [(str(key), str(label)) for key, label in getattr(field, "choices", {}).items()]
        return Field(
            name=name,
            label=str(field.label),
            help=str(field.help_text or ""),
            kind=_kind(field),
            value=self._value(name, field),
            choices=choices,
            required=field.required and not isinstance(field, serializers.BooleanField),
            errors=self.errors.get(name, []),
            low=getattr(field, "min_value", None),
            high=getattr(field, "max_value", None),
            longest=getattr(field, "max_length", None),
            blocked=field.blocked() if hasattr(field, "blocked") else (),
        )

    def _value(self, name: str, field: serializers.Field[Any, Any, Any, Any]) -> Any:
        if self.data is not None:
            return self.data.get(name, "")
        if name in self.initial:
            return self.initial[name]
        return "" if field.default is empty or field.default is None else field.default

    def only(self, *names: str) -> Iterator[Field]:
        return (self[name] for name in names)

    def _plain(self, posted: QueryDict) -> dict[str, Any]:
        """Convert posted texts into what JSON would hold: an empty box is a missing value, an absent checkbox is
        false."""
        plain: dict[str, Any] = {}
        for name, field in self.blank.fields.items():
            if isinstance(field, serializers.BooleanField):
                plain[name] = name in posted
            elif name not in self.nested and posted.get(name, "") != "":
                plain[name] = posted[name]
        for outer, kind in self.nested.items():
            given = {name: posted.get(f"{outer}.{name}", "") for name in kind().fields}
            if filled := {name: value for name, value in given.items() if value}:
                plain[outer] = filled
        return plain

    def boxes(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, label and value of each nested box."""
        for outer, kind in self.nested.items():
            given = (self.data or self.initial).get(outer) or {}
            for name in map(str, kind().fields):
                yield f"{outer}.{name}", name, given.get(name, "")


def _kind(field: serializers.Field[Any, Any, Any, Any]) -> str:
    if template := field.style.get("as"):
        return str(template)
    if isinstance(field, serializers.BooleanField):
        return "checkbox"
    if isinstance(field, (serializers.ChoiceField, serializers.RelatedField)):
        return "select"
    return "number" if isinstance(field, (serializers.IntegerField, serializers.FloatField)) else "text"


def _sentences(detail: Any) -> list[str]:
    if isinstance(detail, Mapping):
        return [f"{key}: {sentence}" for key, inner in detail.items() for sentence in _sentences(inner)]
    return [str(sentence) for sentence in detail] if isinstance(detail, list) else [str(detail)]

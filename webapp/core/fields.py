"""Fields for many values. Each counts before it reads, and stops at the tenth wrong entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

NAMED = 10  # wrong entries that are reported
LONGEST_NAME = 100  # characters of a name that the sender chooses


class ObjectList(serializers.ListSerializer[Any]):
    """A list of objects. REST framework counts these before it looks at them."""

    def to_internal_value(self, data: Any) -> list[Any]:
        self.wrong = 0
        return super().to_internal_value(data)

    def run_child_validation(self, data: Any) -> Any:
        if self.wrong >= NAMED:
            return None
        try:
            return super().run_child_validation(data)
        except serializers.ValidationError:
            self.wrong += 1
            raise


class Several(serializers.ListField):
    """A list of plain values."""

    def run_child_validation(self, data: Any) -> list[Any]:
        self.count(data)
        return list(self.each(enumerate(data)).values())

    def count(self, data: Any) -> None:
        if (refused := _too_many(data, self.max_length)) is not None:
            raise serializers.ValidationError([refused])

    def each(self, entries: Iterable[tuple[int, Any]]) -> dict[int, Any]:
        """Validate the entries with the child field, up to the tenth that it refuses."""
        return _each(self.child, entries)


class Table(serializers.DictField):
    """An object whose names the sender chooses."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length

    def run_child_validation(self, data: Any) -> dict[str, Any]:
        refused = _too_many(data, self.max_length)
        if refused is None and any(len(str(name)) > LONGEST_NAME for name in data):
            refused = ErrorDetail(f"A name in here has more than {LONGEST_NAME} characters.", "too_long")
        if refused is not None:
            raise serializers.ValidationError([refused])
        return _each(self.child, ((str(name), value) for name, value in data.items()))


class Plain(serializers.JSONField):
    """A number, a text or a boolean."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, (bool, int, float, str)):
            raise serializers.ValidationError("This must be a number, a text, true or false.")
        if isinstance(data, str) and len(data) > self.max_length:
            raise serializers.ValidationError(f"This text has {len(data)} characters; it may have {self.max_length}.")
        return data


def _too_many(data: Any, most: int | None) -> ErrorDetail | None:
    if most is None or len(data) <= most:
        return None
    return ErrorDetail(f"This has {len(data)} entries; it must have at most {most}.", "too_many")


def _each(child: Any, data: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}

    def wrong() -> Iterator[tuple[Any, Any]]:
        for name, value in data:
            try:
                found[name] = child.run_validation(value)
            except serializers.ValidationError as error:
                yield name, error.detail

    if errors := dict(islice(wrong(), NAMED)):
        raise serializers.ValidationError(errors)
    return found

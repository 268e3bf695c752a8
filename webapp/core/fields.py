"""Fields for objects and values of no fixed shape."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

LONGEST_NAME = 100  # characters of a name that the sender chooses


class Table(serializers.DictField):
    """An object whose names the sender chooses."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_length = max_length

    def run_child_validation(self, data: Any) -> dict[str, Any]:
        if len(data) > self.max_length:
            raise serializers.ValidationError(f"This has {len(data)} entries; it must have at most {self.max_length}.")
        if any(len(str(name)) > LONGEST_NAME for name in data):
            raise serializers.ValidationError(f"A name in here has more than {LONGEST_NAME} characters.")
        found: dict[str, Any] = super().run_child_validation(data)
        return found


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

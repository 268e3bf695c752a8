"""Errors for values and names out of bounds, with the bounds to keep."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from decoding.public import meant
from webapp.core.fields import NAMED

SHOWN = 40  # characters that are quoted of a bad value
_OF_SIZE = {"min_value", "max_value"}
_OF_LENGTH = {"min_length", "max_length"}


def unknown(names: Collection[str], fields: Iterable[str]) -> dict[str, str]:
    """Return an error for each of the first ten unknown names, and the count of the others."""
    known = ", ".join(fields) or "nothing"
    errors = {
        name[:SHOWN]: f"This is not known here; known are {known}.{meant(name, fields)}"
        for name in heapq.nsmallest(NAMED, names)
    }
    more = len(names) - NAMED
    return errors | ({"non_field_errors": f"{more} more names are not known here."} if more > 0 else {})


def reworded(fields: Any, data: Any, errors: Any) -> Any:
    """Return the errors of a body, field by field: those about bounds in our words, the others unchanged."""
    return {
        name: _reworded(fields[name], fields[name].get_value(data), inner) if name in fields else inner
        for name, inner in errors.items()
    }


def _reworded(field: Any, value: Any, errors: Any) -> Any:
    if isinstance(errors, dict) and isinstance(field, serializers.ListField):
        return {index: _reworded(field.child, value[index], inner) for index, inner in errors.items()}
    if isinstance(errors, list):
        return [_sentence(field, value, error) for error in errors]
    return errors


def _sentence(field: Any, value: Any, error: Any) -> Any:
    match getattr(error, "code", ""):
        case code if code in _OF_SIZE:
            detail = f"This is {str(value)[:SHOWN]}; it must be {_between(field.min_value, field.max_value)}."
        case code if code in _OF_LENGTH:
            things = "characters" if isinstance(field, serializers.CharField) else "entries"
            between = _between(field.min_length, field.max_length)
            detail = f"This has {len(value)} {things}; it must have {between}."
        case _:
            return error
    return ErrorDetail(detail, error.code)


def _between(low: Any, high: Any) -> str:
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return str(low) if low == high else f"from {low} to {high}"

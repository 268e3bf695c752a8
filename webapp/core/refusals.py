"""Every refusal of the API as application/problem+json: a status, a stable code, a sentence, and a way out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from rest_framework import exceptions, serializers
from rest_framework.response import Response

from webapp.core.middleware import current_request_id
from webapp.core.problems import Problem

PROBLEM_TYPE = "application/problem+json"
MOST_ERRORS = 12


def problem_response(exc: Exception, context: Any) -> Response | None:
    """Turn an exception into a problem. One that nobody foresaw stays a server error."""
    headers: dict[str, str] = {}
    match exc:
        case Problem():
            body = _body(exc.status, exc.code, exc.detail, exc.field, exc.hint, **exc.more)
            headers.update(exc.headers)
        case serializers.ValidationError():
            errors = _first(list(_flatten(exc.detail)))
            first = errors[0]
            body = _body(400, "invalid", first["detail"], first["field"], "", errors=errors)
        case Http404():
            body = _body(404, "not-found", "There is nothing here.")
        case PermissionDenied():
            body = _body(403, "forbidden", str(exc) or "This is not allowed.")
        case exceptions.APIException():
            body = _body(exc.status_code, str(exc.default_code).replace("_", "-"), *_of_framework(exc, context["view"]))
        case _:
            return None
    if body["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, status=body["status"], content_type=PROBLEM_TYPE, headers=headers)


def _of_framework(exc: exceptions.APIException, view: Any) -> tuple[str, str, str]:
    """Return sentence, no field, and hint for a refusal by the framework itself."""
    match exc:
        case exceptions.MethodNotAllowed():
            hint = f"It takes {', '.join(view.allowed_methods)}."
            return "This address does not take the method of this request.", "", hint
        case exceptions.NotAcceptable():
            known = ", ".join(renderer.media_type for renderer in view.get_renderers())
            return "The Accept header names nothing that can be sent from here.", "", f"It can be {known}."
        case exceptions.UnsupportedMediaType():
            known = ", ".join(parser.media_type for parser in view.get_parsers())
            return "The body is of a kind that cannot be read here.", "", f"Send it with Content-Type: {known}."
    return str(exc.detail), "", ""


def problem_json(status: int, code: str, detail: str, hint: str = "", request_id: str = "") -> JsonResponse:
    """Make a problem outside of API views."""
    body = _body(status, code, detail, hint=hint)
    return JsonResponse(
        body | {"request_id": request_id or body["request_id"]}, status=status, content_type=PROBLEM_TYPE
    )


def _body(status: int, code: str, detail: str, field: str = "", hint: str = "", **more: Any) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "field": field,
        "hint": hint,
        "request_id": current_request_id.get(),
        **more,
    }


def _first(errors: list[dict[str, str]]) -> list[dict[str, str]]:
    """Keep as many errors as somebody reads, and say how many more there are."""
    more = len(errors) - MOST_ERRORS
    others = {"field": "", "detail": f"{more} more errors are not listed.", "code": "invalid"}
    return [*errors[:MOST_ERRORS], others] if more > 1 else errors


def _flatten(detail: Any, path: str = "") -> Any:
    if isinstance(detail, dict):
        for key, inner in detail.items():
            name = "" if key == "non_field_errors" else str(key)
            yield from _flatten(inner, ".".join(filter(None, (path, name))))
    elif isinstance(detail, list) and any(isinstance(inner, (dict, list)) for inner in detail):
        for index, inner in enumerate(detail):
            yield from _flatten(inner, f"{path}.{index}")
    else:
        for sentence in detail if isinstance(detail, list) else [detail]:
            yield {"field": path, "detail": str(sentence), "code": getattr(sentence, "code", "invalid")}

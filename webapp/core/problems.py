"""Refusals of a service: a status, a stable code, and a sentence with a way out.

Problem
├── Invalid        400  a value out of bounds; `field` names it
├── NotSignedIn    401
├── Forbidden      403
├── NotFound       404
├── Conflict       409  the thing is in a state that does not allow it
├── Gone           410  a link that was used or has expired
├── TooLarge       413
├── TooMany        429  Retry-After says when
└── Busy           503  the same, where it is not the client's fault
"""

from __future__ import annotations

from typing import Any


class Problem(Exception):
    status = 400
    code = "bad-request"

    def __init__(self, detail: str, *, field: str = "", hint: str = "", code: str = "", **more: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.hint = hint
        self.code = code or type(self).code
        self.more = more
        self.headers: dict[str, str] = {}


class Invalid(Problem):
    code = "invalid"


class NotSignedIn(Problem):
    status = 401
    code = "not-signed-in"


class Forbidden(Problem):
    status = 403
    code = "forbidden"


class NotFound(Problem):
    status = 404
    code = "not-found"


class Conflict(Problem):
    status = 409
    code = "conflict"


class Gone(Problem):
    status = 410
    code = "gone"


class TooLarge(Problem):
    status = 413
    code = "too-large"


class TooMany(Problem):
    status = 429
    code = "too-many-requests"

    def __init__(self, detail: str, *, retry_after: int, **rest: Any) -> None:
        super().__init__(detail, **rest)
        self.headers["Retry-After"] = str(retry_after)


class Busy(TooMany):
    status = 503
    code = "busy"

"""The API requests behind the buttons of our pages, so that every button can be copied as code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import resolve, reverse


@dataclass(frozen=True, slots=True)
class Verb:
    title: str  # the button's text
    method: str
    route: str  # the API's route; {kind} comes from the page
    while_running: bool = False  # refused once the job has ended: a page that saw the end leaves its code out


VERBS = {  # keyed by the page route that the button's form is sent to
    "bin": Verb("Delete", "DELETE", "{kind}-detail"),
    "restore": Verb("Restore", "POST", "{kind}-restore"),
    "rename": Verb("Rename", "PATCH", "{kind}-detail"),
    "describe-comparison": Verb("Save name, notes and tags", "PATCH", "comparisons-detail"),
    "check-endpoint": Verb("Check again", "POST", "endpoints-check"),
    "set-key": Verb("Set the key", "PUT", "endpoints-key"),
    "drop-key": Verb("Delete the key", "DELETE", "endpoints-key"),
    "run-demo": Verb("Run the demo", "POST", "comparisons-list"),
    "discard-upload": Verb("Delete the upload", "DELETE", "uploads-detail"),
    "revoke-share": Verb("Revoke", "DELETE", "shares-detail"),
    "prioritise-job": Verb("Set the priority", "PATCH", "jobs-detail"),
    "cancel-job": Verb("Cancel", "POST", "jobs-cancel", while_running=True),
    "retry-job": Verb("Try again", "POST", "jobs-retry"),
    "pause-queue": Verb("Pause", "POST", "queues-pause"),
    "resume-queue": Verb("Resume", "DELETE", "queues-pause"),
    "set-hub-token": Verb("Set the token", "PATCH", "teams-detail"),
    "change-role": Verb("Set the role", "PATCH", "members-detail"),
    "remove-member": Verb("Remove", "DELETE", "members-detail"),
    "revoke-invitation": Verb("Revoke", "DELETE", "invitations-detail"),
    "revoke-token": Verb("Revoke", "DELETE", "tokens-detail"),
    "deactivate": Verb("Deactivate", "POST", "users-deactivate"),
    "reactivate": Verb("Reactivate", "POST", "users-reactivate"),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One button: its form's address, the thing it is about, and the API request that does the same."""

    verb: Verb
    action: str
    of: str
    path: str
    body: str  # JSON, or nothing


def call(page: str, args: Sequence[Any], of: str, values: dict[str, Any]) -> Call:
    """Make a button's call. `page` is the name of a route with its arguments, or a whole address."""
    if page.startswith("/"):
        match: Any = resolve(page)  # the stubs lack `captured_kwargs`
        page, args = str(match.url_name), tuple(match.captured_kwargs.values())
    verb = VERBS[page]
    kind, thing = (args[0], args[1:]) if "{kind}" in verb.route else ("", args)
    path = reverse(verb.route.format(kind=kind), args=thing)
    body = json.dumps(values, ensure_ascii=False, default=_by_id) if values else ""
    return Call(verb, reverse(page, args=args), of, path, body)


def _by_id(thing: Any) -> str:
    return str(getattr(thing, "pk", thing))

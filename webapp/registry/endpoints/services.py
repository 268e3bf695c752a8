"""Register servers, keep their keys, and store what a worker finds out about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from decoding.public import BadServer, EndpointSpec
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid
from webapp.core.secrets import CannotOpen, opened, seal
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.kinds import CHECK_ENDPOINT
from webapp.registry.models import Endpoint, Readiness

MOST = 200  # of one team


@transaction.atomic
def add_endpoint(*, name: str, url: str, dialect: str, key: str = "", by: Actor, **more: Any) -> Endpoint:
    """Register a server, with the other values of its columns. A worker then asks it what it serves."""
    by.require(Right.SUBMIT)
    url = _require_place(name, url, dialect, by)
    there = Endpoint.objects.visible_to(by).kept()
    if there.count() >= MOST:
        raise Conflict(f"Your team keeps {MOST} servers already.", hint="Delete some.", code="too-many-servers")
    if there.filter(name=name).exists():
        raise Conflict(
            f"There is a server called {name} already.", field="name", hint="Choose another name.", code="name-taken"
        )
    made = Endpoint.objects.create(team=by.home, created_by=by.user, name=name, url=url, dialect=dialect, **more)
    if key:
        _keep_key(made, key)
    audit.record(by, "added", made)
    _enqueue_check(made, by)
    return made


@transaction.atomic
def check(*, endpoint: Endpoint, by: Actor) -> None:
    """Have a worker ask the server again."""
    by.require(Right.SUBMIT)
    if endpoint.job is not None and not endpoint.job.is_final:
        raise Conflict(
            f"{endpoint.name} is being checked already.", code="under-way", hint="Its page shows the result."
        )
    _enqueue_check(endpoint, by)


@transaction.atomic
def set_key(*, endpoint: Endpoint, key: str, by: Actor) -> None:
    by.require(Right.SUBMIT)
    _keep_key(endpoint, key)
    audit.record(by, "set the key of", endpoint)


@transaction.atomic
def drop_key(*, endpoint: Endpoint, by: Actor) -> None:
    by.require(Right.SUBMIT)
    if not endpoint.has_key:
        raise Conflict(f"{endpoint.name} has no key.", code="no-key")
    endpoint.sealed_key, endpoint.key_set = "", None
    endpoint.save(update_fields=["sealed_key", "key_set"])
    audit.record(by, "deleted the key of", endpoint)


def key_of(endpoint: Endpoint) -> str:
    """Return the key. Only workers ask for it."""
    try:
        return opened(endpoint.sealed_key)
    except CannotOpen:
        raise BadServer(
            f"The key of {endpoint.name} cannot be read: it was kept under another secret key of this service. Set it "
            "again on the server's page."
        ) from None


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def was_checked(*, job: Job, state: Readiness, findings: Sequence[dict[str, str]] = (), **more: str) -> None:
    """Store the findings of a check and the model that it found, or the reason why the server is refused."""
    jobs.require_lease(job)
    found: dict[str, Any] = {"reason": "", "findings": list(findings), "checked": timezone.now(), **more}
    Endpoint.objects.filter(job=job).update(state=state, **found)


def _enqueue_check(endpoint: Endpoint, by: Actor) -> None:
    endpoint.job = jobs.enqueue(kind=CHECK_ENDPOINT, title=f"Check {endpoint.name}", by=by)
    endpoint.state, endpoint.reason = Readiness.CHECKING, ""
    endpoint.save(update_fields=["job", "state", "reason"])


def _keep_key(endpoint: Endpoint, key: str) -> None:
    endpoint.sealed_key, endpoint.key_set = seal(key), timezone.now()
    endpoint.save(update_fields=["sealed_key", "key_set"])


def _require_place(name: str, url: str, dialect: str, by: Actor) -> str:
    """Refuse what is no address, and what the operator does not allow as far as that shows without asking for it. The
    worker that connects judges again. Return the address without routes."""
    try:
        spec = EndpointSpec(name, url, dialect)
        settings.SERVERS.require_written(spec.place.host, spec.place.port)
    except BadServer as error:
        raise Invalid(str(error), field="url", code=error.code) from None
    if settings.SERVERS_ARE_USUAL and not by.user.is_operator:  # others could look at the ports of the machine
        raise Invalid(
            "Only the operator may add servers of this machine, because DRAFTHOUSE_SERVERS is not set.",
            field="url",
            hint="Ask the operator to add it, or to list it in DRAFTHOUSE_SERVERS.",
            code=BadServer.code,
        )
    return spec.address

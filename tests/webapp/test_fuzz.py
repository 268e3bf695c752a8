"""The schema against the service: whatever a schema-wise stranger sends, no server error and no answer off the schema.

A few examples per operation, from a fixed seed; `schemathesis run` with the checked-in schema goes on for hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.webapp.everything import one_of_everything
from webapp.accounts import services as accounts
from webapp.accounts.models import Scope

CHECKED_IN = Path(__file__).parents[2] / "docs" / "api" / "openapi.yaml"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schema = schemathesis.openapi.from_path(CHECKED_IN).exclude(path_regex="/schema/")
schema.app = get_wsgi_application()


@dataclass(frozen=True)
class Target:
    token: str
    things: dict[str, Any]


@pytest.fixture
def target(world) -> Iterator[Target]:
    """As in Django's own test client, the connection outlives the request that a test makes."""
    things = one_of_everything(world)
    token = accounts.create_token(name="fuzz", scope=Scope.ADMIN, days=1, by=world.actor(world.alice))[1]
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Target(token, things)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@schema.parametrize()
@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_server_error_and_no_answer_off_the_schema(case: schemathesis.Case, target: Target) -> None:
    """Ids are of things that are there: that random ones are not found needs no thousand requests."""
    cache.clear()
    (case.query or {}).pop("wait", None)
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = str(target.things[case.path.split("/")[3]].pk)
    case.call_and_validate(headers={"Authorization": f"Bearer {target.token}"}, checks=CHECKS)

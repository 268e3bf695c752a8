"""The schema against the service: no request that follows the schema causes a server error or an answer off the schema.

Some requests to every operation, from a fixed seed and with all of schemathesis' checks. `./drafthouse bench fuzz` goes
on for as long as it is told to, also with sequences in which one request uses another's answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import override_settings
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.kit.everything import one_of_everything
from tests.kit.plausible import make_plausible, newcomer, token_of
from tests.kit.teams import a_world

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
CONFIG = schemathesis.Config.from_path(ROOT / "benchmarks" / "schemathesis.toml")
REQUESTS = 2  # to each operation
schema = schemathesis.openapi.from_path(ROOT / "docs" / "api" / "openapi.yaml", config=CONFIG).exclude(
    path_regex="/schema/"
)
schema.app = get_wsgi_application()
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}
SAME = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def everything(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folder that holds the files of one of everything, and these things. Each test takes back what it changes."""
    folder = tmp_path_factory.mktemp("data")
    with django_db_blocker.unblock():
        with override_settings(DATA_DIR=folder):
            found = one_of_everything(a_world())
        yield folder, found
        call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def things(everything: tuple[Path, dict[str, Any]], db: None, settings: Any) -> Iterator[dict[str, Any]]:
    """As in Django's own test client, the connection outlives the request that a test makes."""
    settings.DATA_DIR, found = everything
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield found
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def prepare(case: schemathesis.Case) -> dict[str, str]:
    """Nobody waits for news here, and nobody has tried too often. The headers to send."""
    cache.clear()
    (case.query or {}).pop("wait", None)
    make_plausible(case)
    return token_of(newcomer())


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_server_error_and_no_answer_off_the_schema(name: str, things: dict[str, Any]) -> None:
    """Not by `schema.parametrize`: it gives all of them one name, of which xdist runs one, and is slow to collect."""

    @given(case=st.one_of([OPERATIONS[name].as_strategy(generation_mode=mode) for mode in GenerationMode]))
    @settings(max_examples=REQUESTS, phases=[Phase.generate], **SAME)
    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(headers=prepare(case))

    send()

"""Reading leaves nothing behind: no URL writes on GET, whoever asks, but for the listed exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.kit.addresses import address, routes
from tests.kit.everything import in_other_states, one_of_everything
from webapp.accounts import services as accounts
from webapp.accounts.models import User
from webapp.sharing import services as sharing

READS = re.compile(r"(SELECT|WITH|SAVEPOINT|RELEASE|BEGIN|COMMIT|DECLARE|SHOW)\b")
MINUTELY = 'UPDATE "accounts_apitoken" SET "last_used"'  # when a token was last used, at most once a minute


@pytest.fixture
def readable(world) -> list[str]:
    """Every address that takes GET, of things in every state; and the three whose secret is right."""
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    things, by = one_of_everything(world), world.actor(world.alice)
    usual = {address(pattern, things) for method, pattern in routes() if method == "GET"}
    secret = sharing.share(comparison=things["comparison"], days=1, hides_texts=False, by=by)[1]
    invitation = accounts.invite(role="member", days=1, by=by)[1]
    link = accounts.issue_sign_in_link(user=world.bob)
    opened = [f"/shared/{secret}/", f"/shared/{secret}/events/", f"/shared/{secret}/what-if/",
              reverse("join", args=[invitation]), reverse("enter", args=[link])]  # fmt: skip
    return [*sorted(usual), *in_other_states(world, things), *opened]


def written(ask: Callable[[], object]) -> list[str]:
    """Run `ask`; return the beginnings of its statements that are not reads."""
    with CaptureQueriesContext(connection) as asked:
        ask()
    return [query["sql"].split(" = ")[0] for query in asked.captured_queries if not READS.match(query["sql"].lstrip())]


@pytest.mark.parametrize("who", ["alice", "token"])
def test_no_address_writes_when_it_is_read(world, readable, who):
    User.objects.update(is_active=True)
    client = world.script("admin") if who == "token" else world.page(getattr(world, who, None))
    list(finders.get_finders())  # the first use of one makes the files of the strategies' looks
    kept = sorted(settings.DATA_DIR.rglob("*"))
    found = {}
    for at in readable:
        cache.clear()
        if wrote := written(lambda at=at: client.get(at)):
            found[at] = wrote
    wanted = [[MINUTELY]] if who == "token" else []  # by the first request, and by none after it
    assert list(found.values()) == wanted, found
    assert sorted(settings.DATA_DIR.rglob("*")) == kept

"""An address asks the database the same however much there is: every list, every page, as HTML and over REST."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.kit import make
from tests.kit.addresses import address, routes
from tests.kit.everything import more_of_everything, one_of_everything
from webapp.accounts.models import User

ANSWERS = (200, 302, 409, 410)  # what cannot be shown is told as quickly
MOST = 28  # queries of any address: the page of a comparison asks most


def test_no_address_asks_more_when_there_is_more(world):
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    things = one_of_everything(world)
    readable = sorted({address(pattern, things) for method, pattern in routes() if method == "GET"})
    client = world.page(world.alice)

    def counts() -> dict[str, int]:
        found = {}
        for at in readable:
            with CaptureQueriesContext(connection) as asked:
                assert client.get(at).status_code in ANSWERS, at
            found[at] = len(asked)
        return found

    before = counts()
    more_of_everything(world)
    after = counts()  # a form with one pair shows its plan at once, so it asks less when there are several
    assert {at: count for at, count in after.items() if count > before[at]} == {}
    assert max(before.values()) <= MOST


STATICS = [{"strategy": "static", "params": {"lookahead": lookahead}} for lookahead in range(1, 12)]
SHOWN = ("comparisons/{}/", "api/v1/comparisons/{}/events/")


@pytest.mark.parametrize("begin", [make.decode_all, make.begin_a_heat])
def test_a_comparison_asks_no_more_when_more_strategies_race(world, begin):
    """Every trace that its page or a watcher of it begins with is read at once."""
    by, client = world.actor(world.alice), world.page(world.alice)
    counts = []
    for strategies in (STATICS[:2], STATICS):
        comparison = make.comparison(by, strategies=strategies)
        begin(comparison)
        asked, told = [], 0
        for at in SHOWN:
            with CaptureQueriesContext(connection) as found:
                told += client.get(f"/{at.format(comparison.pk)}").content.count(b'"sample":')
            asked.append(len(found))
        assert told > len(strategies)
        counts.append(asked)
    assert counts[0] == counts[1]

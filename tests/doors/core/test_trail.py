"""Breadcrumbs: a link to every level above a page."""

from __future__ import annotations

import re

import pytest

from tests.kit.everything import pages
from webapp.core.templatetags.trail import CRUMBS

pytestmark = pytest.mark.django_db


def trail(answer) -> list[tuple[str, str]]:
    """Return address and name of each level; the page itself has no address."""
    found = re.search('<nav class="trail".*?</nav>', answer.content.decode(), re.DOTALL)
    return re.findall(r'<li(?: aria-current="page")?>(?:<a href="([^"]*)">)?([^<]*)', found[0]) if found else []


def test_every_level_of_every_page_leads_to_a_page(world):
    addresses = pages(world)
    client = world.page(world.bob)
    shown = {name: trail(client.get(address)) for name, address in addresses.items() if name in CRUMBS}
    assert [name for name, levels in shown.items() if not levels] == ["system"]
    known = {address for levels in shown.values() for address, _ in levels if address}
    assert [address for address in known if client.get(address).status_code != 200] == []


def test_a_part_of_an_entry_stands_below_team_list_and_entry_and_one_that_is_not_there_below_the_list(world):
    addresses = pages(world)
    levels = trail(world.page(world.bob).get(addresses["shares"]))
    assert [address for address, _ in levels] == ["/team/", "/comparisons/", addresses["comparison"], ""]
    assert levels[-1][1] == "Share"
    answer = world.page(world.bob).get("/pairs/00000000-0000-0000-0000-000000000000/")
    assert answer.status_code == 404
    assert [address for address, _ in trail(answer)] == ["/team/", ""]

"""A thing is renamed on its page, until a comparison points at it."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.accounts.models import AuditEntry


@pytest.fixture
def things(ready):
    pair, dataset = ready
    return {"models": pair.target, "pairs": pair, "datasets": dataset}


def test_a_name_changes_where_it_is_shown(world, things):
    kind, entry = "pairs", things["pairs"]
    client, viewer = world.page(world.bob), world.page(world.victor)
    assert f'action="/{kind}/{entry.pk}/rename/"' in client.get(f"/{kind}/{entry.pk}/").content.decode()
    assert "rename/" not in viewer.get(f"/{kind}/{entry.pk}/").content.decode()
    shown = client.post(f"/{kind}/{entry.pk}/rename/", {"name": "other"}, follow=True).content.decode()
    assert f"{entry.name} is called other now." in shown
    assert type(entry).objects.get(pk=entry.pk).name == "other"
    assert AuditEntry.objects.filter(verb="renamed").count() == 1


def test_what_a_comparison_points_at_keeps_its_name(world, things):
    make.comparison(world.actor(world.bob), pair=things["pairs"], dataset=things["datasets"])
    client = world.page(world.bob)
    for kind, entry in things.items():
        assert "rename/" not in client.get(f"/{kind}/{entry.pk}/").content.decode()
        told = client.post(f"/{kind}/{entry.pk}/rename/", {"name": "other"}, follow=True).content.decode()
        assert "A comparison uses" in told and "Add it again" in told
        assert type(entry).objects.get(pk=entry.pk).name == entry.name

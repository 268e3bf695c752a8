"""Display names, and how an operator keeps somebody out without losing what they made."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.accounts import services
from webapp.accounts.models import AuditEntry, Scope, User
from webapp.core.problems import Gone


@pytest.fixture
def operator(world):
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    return world.page(world.alice)


def test_a_display_name_is_what_others_read(world):
    page = world.page(world.bob)
    told = page.post("/account/name/", {"name": "Bob the Builder"}, follow=True).content.decode()
    assert "Others see the name Bob the Builder now." in told
    assert "Bob the Builder" in world.page(world.alice).get("/team/").content.decode()
    assert world.api(world.bob).patch("/api/v1/me/", {"name": ""}).json()["name"] == ""
    assert world.api(world.bob).patch("/api/v1/me/", {"name": "a\nb"}).status_code == 400
    assert AuditEntry.objects.filter(verb="renamed", subject="user").count() == 2


def test_who_is_deactivated_is_out_at_once_on_every_way(world, operator):
    bob = world.page(world.bob)
    dataset = make.dataset(world.actor(world.bob))
    token = services.create_token(name="t", scope=Scope.READ, days=1, by=world.actor(world.bob))[1]
    link = services.issue_sign_in_link(user=world.bob)
    shown = operator.post(f"/users/{world.bob.pk}/deactivate/", follow=True).content.decode()
    assert "bob cannot sign in any more." in shown and "Reactivate" in shown
    assert bob.get("/comparisons/").status_code == 302
    script = world.api(None)
    script.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    assert script.get("/api/v1/me/").status_code == 401
    with pytest.raises(Gone):
        services.use_sign_in_link(secret=link)
    assert world.api(world.alice).get(f"/api/v1/datasets/{dataset.pk}/").status_code == 200
    assert [row.username for row in operator.get("/users/", {"state": "deactivated"}).context["list"].rows] == ["bob"]

    operator.post(f"/users/{world.bob.pk}/reactivate/")
    assert bob.get("/comparisons/").status_code == 200
    assert script.get("/api/v1/me/").status_code == 200


def test_nobody_locks_the_door_behind_themselves_and_nothing_is_done_twice(world, operator):
    api = world.api(world.alice)
    assert api.post(f"/api/v1/users/{world.alice.pk}/deactivate/").json()["code"] == "not-yourself"
    assert api.post(f"/api/v1/users/{world.bob.pk}/reactivate/").status_code == 409
    assert api.post(f"/api/v1/users/{world.bob.pk}/deactivate/").json()["is_active"] is False
    assert api.get("/api/v1/users/?is_active=true").json()["count"] == 3

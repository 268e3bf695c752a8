"""Inviting, joining, leaving, removing and switching; a team never loses its last owner. An operator keeps
somebody out without losing what they made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.kit import make
from webapp.accounts import services
from webapp.accounts.models import AuditEntry, Invitation, Membership, Role, Scope, User
from webapp.core.problems import Gone, Invalid

STRANGER = {"username": "dora", "password": "a good long one"}


def invited(world, role=Role.MEMBER) -> str:
    return services.invite(role=role, days=7, by=world.actor(world.alice))[1]


def test_a_stranger_joins_by_link_with_the_role_inside(world):
    link = f"/join/{invited(world, Role.VIEWER)}/"
    client = Client()
    assert b"Join Alice&#x27;s lab" in client.get(link).content
    assert client.post(link, STRANGER).status_code == 302
    assert Membership.objects.get(user__username="dora").role == "viewer"
    assert client.get("/team/").status_code == 200


def test_a_link_works_once_until_its_days_are_over_or_it_is_revoked(world):
    late, revoked = invited(world), invited(world)
    first, second = Invitation.objects.order_by("created")
    Invitation.objects.filter(pk=first.pk).update(expires=timezone.now() - timedelta(seconds=1))
    services.revoke_invitation(invitation=second, by=world.actor(world.alice))
    assert [Client().get(f"/join/{secret}/").status_code for secret in (late, revoked)] == [410, 410]
    secret = invited(world)
    services.join(secret=secret, user=world.charlie)
    told = [entry["verb"] for entry in world.api(world.alice).get("/api/v1/audit/").json()["results"]]
    assert told[:2] == ["joined", "invited"]
    assert Client().post(f"/join/{secret}/", STRANGER).status_code == 410
    assert not User.objects.filter(username="dora").exists()
    assert secret not in str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))


def test_someone_with_an_account_joins_as_themselves_and_switches(world):
    client, there = world.page(world.charlie), f'formaction="/team/{world.other_team.pk}/switch/"'
    client.post(f"/join/{invited(world)}/")
    assert world.actor(world.charlie).team == world.team
    assert there in client.get("/account/").content.decode()
    client.post(f"/team/{world.other_team.pk}/switch/")
    assert world.actor(world.charlie).team == world.other_team
    assert there not in client.get("/account/").content.decode()


def test_the_token_of_the_hub_is_kept_for_workers_and_shown_to_nobody(world, settings):
    at, secret = f"/api/v1/teams/{world.team.pk}/", "hf_a-secret"
    made = world.api(world.alice).patch(at, {"hub_token": secret})
    assert (made.status_code, made.json()["has_hub_token"], secret in made.content.decode()) == (200, True, False)
    world.team.refresh_from_db()
    assert services.hub_token(world.team) == secret and secret not in world.team.sealed_hub_token
    told = world.page(world.alice).get("/team/").content.decode()
    assert "A token is set. No page shows it." in told and secret not in told
    assert AuditEntry.objects.get(verb="set the hub token of").detail == {}
    assert world.api(world.alice).patch(at, {"hub_token": "two words"}).json()["field"] == "hub_token"
    settings.SECRET_KEY = "another"
    with pytest.raises(Invalid, match="Set it again on the team's page"):
        services.hub_token(world.team)
    page = world.page(world.alice)
    page.post(f"/team/{world.team.pk}/hub-token/", {"hub_token": ""})
    world.team.refresh_from_db()
    assert (world.team.sealed_hub_token, services.hub_token(world.team)) == ("", "")


def test_the_last_owner_can_neither_leave_nor_step_down_and_with_a_second_one_may(world):
    mine = Membership.objects.get(user=world.alice)
    api = world.api(world.alice)
    for answer in (
        api.patch(f"/api/v1/members/{mine.pk}/", {"role": "viewer"}),
        api.delete(f"/api/v1/members/{mine.pk}/"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "last-owner")
    bobs = Membership.objects.get(user=world.bob)
    services.change_role(membership=bobs, role=Role.OWNER, by=world.actor(world.alice))
    assert world.page(world.alice).post(f"/team/members/{mine.pk}/remove/").status_code == 302
    assert not Membership.objects.filter(user=world.alice).exists()


def test_who_is_removed_loses_sight_and_tokens_at_once_and_a_member_may_only_leave(world):
    victors, bobs = (Membership.objects.get(user=user) for user in (world.victor, world.bob))
    assert world.api(world.bob).delete(f"/api/v1/members/{victors.pk}/").status_code == 403
    assert world.api(world.victor).delete(f"/api/v1/members/{victors.pk}/").status_code == 204
    text = services.create_token(name="ci", scope=Scope.SUBMIT, days=None, by=world.actor(world.bob))[1]
    client = Client(headers={"Authorization": f"Bearer {text}"})
    assert client.get("/api/v1/members/").status_code == 200
    services.remove(membership=bobs, by=world.actor(world.alice))
    assert client.get("/api/v1/members/").status_code == 401
    assert world.page(world.bob).get("/team/").status_code == 403


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

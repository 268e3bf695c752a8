"""Inviting, joining, leaving, removing and switching; a team never loses its last owner."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from webapp.accounts import services
from webapp.accounts.models import AuditEntry, Invitation, Membership, Role, Scope, User
from webapp.core.problems import Conflict, Invalid


def invited(world, role=Role.MEMBER) -> str:
    return services.invite(role=role, days=7, by=world.actor(world.alice))[1]


def test_a_stranger_joins_by_link_with_the_role_inside(world):
    link = f"/join/{invited(world, Role.VIEWER)}/"
    client = Client()
    assert b"Join Alice&#x27;s lab" in client.get(link).content
    answer = client.post(link, {"username": "dora", "password": "a good long one"})
    assert answer.status_code == 302
    assert Membership.objects.get(user__username="dora").role == "viewer"
    assert client.get("/team/").status_code == 200


def test_a_link_works_once_until_its_days_are_over_or_it_is_revoked(world):
    late, revoked = invited(world), invited(world)
    first, second = Invitation.objects.order_by("created")
    Invitation.objects.filter(pk=first.pk).update(expires=timezone.now() - timedelta(seconds=1))
    services.revoke_invitation(invitation=second, by=world.actor(world.alice))
    assert [Client().get(f"/join/{s}/").status_code for s in (late, revoked, "nonsense")] == [410, 410, 410]
    secret = invited(world)
    services.join(secret=secret, user=world.charlie)
    told = [entry["verb"] for entry in world.api(world.alice).get("/api/v1/audit/").json()["results"]]
    assert told[:2] == ["joined", "invited"]
    answer = Client().post(f"/join/{secret}/", {"username": "dora", "password": "a good long one"})
    assert answer.status_code == 410
    assert not User.objects.filter(username="dora").exists()
    assert secret not in str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))


def test_someone_with_an_account_joins_as_themselves_and_switches(world):
    client = world.page(world.charlie)
    client.post(f"/join/{invited(world)}/")
    assert world.actor(world.charlie).team == world.team
    client.post(f"/team/{world.other_team.pk}/switch/")
    assert world.actor(world.charlie).team == world.other_team


def test_the_token_of_the_hub_is_kept_for_workers_and_shown_to_nobody(world):
    at, secret = f"/api/v1/teams/{world.team.pk}/", "hf_a-secret"
    made = world.api(world.alice).patch(at, {"hub_token": secret})
    assert (made.status_code, made.json()["has_hub_token"], secret in made.content.decode()) == (200, True, False)
    world.team.refresh_from_db()
    assert services.hub_token(world.team) == secret and secret not in world.team.sealed_hub_token
    told = world.page(world.alice).get("/team/").content.decode()
    assert "A token is set. No page shows it." in told and secret not in told
    assert AuditEntry.objects.get(verb="set the hub token of").detail == {}
    assert world.api(world.alice).patch(at, {"hub_token": "two words"}).json()["field"] == "hub_token"
    world.page(world.alice).post(f"/team/{world.team.pk}/hub-token/", {"hub_token": ""})
    world.team.refresh_from_db()
    assert (world.team.sealed_hub_token, services.hub_token(world.team)) == ("", "")


def test_a_token_of_the_hub_kept_under_another_secret_key_cannot_be_read(world, settings):
    services.set_hub_token(team=world.team, token="hf_a-secret", by=world.actor(world.alice))
    settings.SECRET_KEY = "another"
    with pytest.raises(Invalid, match="Set it again on the team's page"):
        services.hub_token(world.team)


def test_the_menu_offers_the_other_teams_of_a_person(world):
    client = world.page(world.bob)
    assert b"Switch to" not in client.get("/account/").content
    Membership.objects.create(team=world.other_team, user=world.bob, role=Role.VIEWER)
    menu = client.get("/account/").content.decode()
    assert re.findall('formaction="([^"]*)"', menu) == [f"/team/{world.other_team.pk}/switch/"]
    assert client.post(f"/team/{world.other_team.pk}/switch/").status_code == 302
    assert f'formaction="/team/{world.team.pk}/switch/"' in client.get("/account/").content.decode()


def test_the_last_owner_can_neither_leave_nor_step_down(world):
    mine = Membership.objects.get(user=world.alice)
    with pytest.raises(Conflict, match="last owner"):
        services.remove(membership=mine, by=world.actor(world.alice))
    answer = world.api(world.alice).patch(f"/api/v1/members/{mine.pk}/", {"role": "viewer"})
    assert (answer.status_code, answer.json()["code"]) == (409, "last-owner")


def test_with_a_second_owner_the_first_may_leave(world):
    services.change_role(
        membership=Membership.objects.get(user=world.bob), role=Role.OWNER, by=world.actor(world.alice)
    )
    answer = world.page(world.alice).post(f"/team/members/{Membership.objects.get(user=world.alice).pk}/remove/")
    assert answer.status_code == 302
    assert not Membership.objects.filter(user=world.alice).exists()


def test_who_is_removed_loses_sight_and_tokens_at_once(world):
    text = services.create_token(name="ci", scope=Scope.SUBMIT, days=None, by=world.actor(world.bob))[1]
    client = Client(headers={"Authorization": f"Bearer {text}"})
    assert client.get("/api/v1/members/").status_code == 200
    services.remove(membership=Membership.objects.get(user=world.bob), by=world.actor(world.alice))
    assert client.get("/api/v1/members/").status_code == 401
    assert world.page(world.bob).get("/team/").status_code == 403


def test_a_member_may_leave_but_not_remove(world):
    victors = Membership.objects.get(user=world.victor)
    assert world.api(world.bob).delete(f"/api/v1/members/{victors.pk}/").status_code == 403
    assert world.api(world.victor).delete(f"/api/v1/members/{victors.pk}/").status_code == 204

"""API tokens: shown once, stored as a digest, never stronger than their owner."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from webapp.accounts import services
from webapp.accounts.models import ApiToken, Membership, Role, Scope, User


def use(text: str):
    return Client(headers={"Authorization": f"Bearer {text}"}).get("/api/v1/me/")


def token(world, scope=Scope.SUBMIT, user=None) -> str:
    return services.create_token(name="ci", scope=scope, days=30, by=world.actor(user or world.alice))[1]


def test_a_token_is_shown_when_made_never_again_and_says_who_it_is(world):
    told = use(token(world)).json()
    assert (told["user"]["username"], told["team"]["name"], told["right"]) == ("alice", "Alice's lab", "submit")
    client, page = world.api(world.alice), world.page(world.alice)
    made = client.post("/api/v1/tokens/", {"name": "ci", "scope": "read"}).json()
    assert use(made["token"]).status_code == 200
    assert "token" not in client.get(f"/api/v1/tokens/{made['id']}/").json()
    shown = page.post("/account/tokens/", {"name": "ci", "scope": "read", "days": "7"})
    assert b"it is not shown again" in shown.content and b"dh_" in shown.content
    assert b"it is not shown again" not in page.get("/account/tokens/").content


def test_only_a_peppered_digest_is_stored(world, settings):
    text = token(world)
    assert text.partition(".")[2] not in str(list(ApiToken.objects.values()))
    settings.TOKEN_PEPPER = "another"
    assert use(text).status_code == 401


@pytest.mark.parametrize("change", ["revoked", "expired", "wrong secret", "other scheme"])
def test_a_bad_token_is_refused_and_the_answer_says_what_to_send(world, change):
    text = token(world)
    if change == "revoked":
        services.revoke_token(token=ApiToken.objects.get(), by=world.actor(world.alice))
    if change == "expired":
        ApiToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
    spelled = {"wrong secret": text[:-1] + "~", "other scheme": "Token x"}
    answer = use(spelled.get(change, text))
    assert (answer.status_code, answer.json()["code"]) == (401, "bad-token")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert "dh_<key>" in answer.json()["hint"]


def test_a_token_is_never_stronger_than_its_owner_is_today_nor_makes_others(world):
    text = token(world, Scope.SUBMIT, world.bob)
    assert use(text).json()["right"] == "submit"
    Membership.objects.filter(user=world.bob).update(role=Role.VIEWER)
    assert use(text).json()["right"] == "read"
    answer = world.api(world.bob).post("/api/v1/tokens/", {"name": "ci", "scope": "submit"})
    assert answer.status_code == 403
    answer = world.script("submit").post("/api/v1/tokens/", {"name": "child", "scope": "read"})
    assert (answer.status_code, answer.json()["code"]) == (403, "scope-too-narrow")
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    asked = [world.script(scope).get("/api/v1/users/").status_code for scope in ("read", "submit", "admin")]
    assert asked == [403, 403, 200]


def test_last_used_is_written_at_most_once_a_minute(world):
    text = token(world)
    use(text)
    first = ApiToken.objects.get().last_used
    use(text)
    assert ApiToken.objects.get().last_used == first
    ApiToken.objects.update(last_used=timezone.now() - timedelta(seconds=61))
    use(text)
    assert ApiToken.objects.get().last_used > first


def test_thirty_wrong_tokens_a_minute_are_enough(world):
    answers = [use("dh_0.0").status_code for _ in range(31)]
    assert answers[-1] == 429 and set(answers[:-1]) == {401}
    assert int(use("dh_0.0")["Retry-After"]) <= 60

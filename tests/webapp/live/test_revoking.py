"""A right that is taken away ends every connection that stands on it, whatever it is and however it was opened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.utils import timezone

from tests.webapp.live.conftest import Watcher, run, watcher
from webapp.accounts.models import ApiToken, Membership, Role, User
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample
from webapp.core import conditions
from webapp.live import watch_socket
from webapp.sharing.models import Share

SIGNED_OUT = "This session has ended: you signed out, or somebody changed the password or the account."
TOKEN_ENDED = "This token was revoked or has expired."
LEFT = "You are no longer in this team."
NOT_THERE = "There is no comparison with this id, or you may not see it."
LINK_ENDED = "This link shows nothing: it was revoked, or it has expired."

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "CHECK_EVERY", 0.05)


@pytest.fixture
def link(world, comparison) -> str:
    """The secret of a share."""
    made = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", {}).json()["link"]
    return made.rstrip("/").rpartition("/")[2]


def with_ticket(world, comparison, client) -> Watcher:
    ticket = client.post("/api/v1/tickets/").json()["ticket"]
    return watcher(comparison, None, origin="", query=f"ticket={ticket}")


def by_link(comparison, secret: str, user: User | None = None, query: str = "") -> Watcher:
    stranger = watcher(comparison, user, query=query)
    stranger.scope["path"] = f"/ws/shared/{secret}/"
    return stranger


def ended(watching: Watcher, sample: Sample, end: Callable[[], Any]) -> tuple[int, str]:
    """How the socket is closed once the right has ended, after it was told what there was."""
    endings = []

    async def story() -> None:
        await watching.open(after={str(sample.pk): 0})
        await watching.until(lambda watching: watching.seqs(sample) == [1, 2])
        await sync_to_async(end)()
        endings.append(await watching.closed())

    run(story())
    return endings[0]


def change_password() -> None:
    bob = User.objects.get(username="bob")
    bob.set_password("another password")
    bob.save()


def deactivate(name: str) -> Callable[[], Any]:
    return lambda: User.objects.filter(username=name).update(is_active=False)


LONG_AGO = timezone.now() - timedelta(days=1)
OF_A_SESSION = {
    "signed out elsewhere": (lambda: Session.objects.all().delete(), 4001, SIGNED_OUT),
    "session expired": (lambda: Session.objects.update(expire_date=LONG_AGO), 4001, SIGNED_OUT),
    "password changed": (change_password, 4001, SIGNED_OUT),
    "deactivated": (deactivate("bob"), 4001, SIGNED_OUT),
    "removed from the team": (lambda: Membership.objects.filter(user__username="bob").delete(), 4004, LEFT),
    "comparison deleted": (lambda: Comparison.objects.all().delete(), 4004, NOT_THERE),
}
OF_A_TOKEN = {
    "token revoked": (lambda: ApiToken.objects.update(revoked_at=LONG_AGO), 4001, TOKEN_ENDED),
    "token expired": (lambda: ApiToken.objects.update(expires=LONG_AGO), 4001, TOKEN_ENDED),
    "its owner deactivated": (deactivate("alice"), 4001, TOKEN_ENDED),
    "its owner removed": (lambda: Membership.objects.filter(user__username="alice").delete(), 4004, LEFT),
}
OF_A_LINK = {
    "revoked": lambda: Share.objects.update(revoked_at=LONG_AGO),
    "expired": lambda: Share.objects.update(expires=LONG_AGO),
    "deleted": lambda: Share.objects.all().delete(),
    "comparison in the bin": lambda: Comparison.objects.update(binned=LONG_AGO),
    "comparison deleted": lambda: Comparison.objects.all().delete(),
}


@pytest.mark.parametrize(("end", "code", "sentence"), OF_A_SESSION.values(), ids=OF_A_SESSION)
def test_a_session_that_ends_closes_its_sockets(world, comparison, sample, end, code, sentence):
    assert ended(watcher(comparison, world.bob), sample, end) == (code, sentence)


@pytest.mark.parametrize(("end", "code", "sentence"), OF_A_SESSION.values(), ids=OF_A_SESSION)
def test_so_it_does_where_the_socket_was_opened_with_a_ticket(world, comparison, sample, end, code, sentence):
    watching = with_ticket(world, comparison, world.api(world.bob))
    assert ended(watching, sample, end) == (code, sentence)


@pytest.mark.parametrize(("end", "code", "sentence"), OF_A_TOKEN.values(), ids=OF_A_TOKEN)
def test_a_token_that_ends_closes_its_sockets(world, comparison, sample, end, code, sentence):
    watching = with_ticket(world, comparison, world.script("read"))
    assert ended(watching, sample, end) == (code, sentence)


@pytest.mark.parametrize("query", ["", "ticket=x", "xticket=x", "ticket=x&ticket=y"])
@pytest.mark.parametrize("end", OF_A_LINK.values(), ids=OF_A_LINK)
def test_a_link_that_ends_closes_the_sockets_it_opened_whatever_the_query_says(
    comparison, sample, link, end, query, world
):
    assert ended(by_link(comparison, link, query=query), sample, end) == (4004, LINK_ENDED)


async def test_a_link_shows_on_whoever_else_its_reader_no_longer_is(world, comparison, sample, link):
    reader = by_link(comparison, link, world.bob)
    await reader.open(after={str(sample.pk): 0})
    await reader.until(lambda reader: reader.seqs(sample) == [1, 2])
    await sync_to_async(Session.objects.all().delete)()
    await sync_to_async(trace.append)(sample=sample, first_seq=3, events=[{"seq": 3}])
    await reader.until(lambda reader: reader.seqs(sample) == [1, 2, 3])
    await reader.leave()


async def test_a_lower_role_that_may_still_read_watches_on(world, sample, bob):
    await bob.open(after={str(sample.pk): 0})
    await bob.until(lambda bob: bob.seqs(sample) == [1, 2])
    await sync_to_async(Membership.objects.filter(user=world.bob).update)(role=Role.VIEWER)
    await sync_to_async(trace.append)(sample=sample, first_seq=3, events=[{"seq": 3}])
    await bob.until(lambda bob: bob.seqs(sample) == [1, 2, 3])
    await bob.leave()


@pytest.mark.parametrize(("end", "code", "sentence"), OF_A_SESSION.values(), ids=OF_A_SESSION)
def test_a_ticket_is_worth_nothing_once_the_right_it_was_made_with_has_ended(world, comparison, end, code, sentence):
    late = with_ticket(world, comparison, world.api(world.bob))

    async def story() -> None:
        await sync_to_async(end)()
        await late.knock()
        assert (await late.closed())[0] == code

    run(story())
    assert late.frames == []


@pytest.mark.parametrize("kind", ["comparison", "link", "ticket"])
def test_no_socket_opens_for_a_page_that_is_not_ours(world, comparison, link, kind):
    ticket = world.script("read").post("/api/v1/tickets/").json()["ticket"]
    foreign = watcher(
        comparison, world.bob, "http://elsewhere.example", f"ticket={ticket}" if kind != "comparison" else ""
    )
    if kind == "link":
        foreign.scope["path"] = f"/ws/shared/{link}/"

    async def story() -> None:
        await foreign.knock()
        assert await foreign.closed() == watch_socket.FOREIGN

    run(story())


def test_fifty_sockets_are_checked_with_as_many_queries_as_one(world, comparison, django_assert_num_queries):
    from webapp.accounts.standing import conditions_of
    from webapp.core.conditions import Condition, broken, still_exists

    people = [User.objects.create(username=f"u{number}", password="!") for number in range(50)]
    for user in people:
        Membership.objects.create(team=world.team, user=user, role=Role.VIEWER)
    watching = Condition(still_exists(Comparison), comparison.pk, watch_socket.NotFound(NOT_THERE))
    fifty = [(*conditions_of(world.actor(user), f"s{user.pk}"), watching) for user in people]
    for some in (fifty[:1], fifty):
        with django_assert_num_queries(4):  # sessions, users, memberships, comparisons
            found = broken(some)
        assert len(found) == len(some)

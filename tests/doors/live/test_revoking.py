"""A right that is taken away ends every connection that stands on it, whatever it is and however it was opened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from tests.kit.live import Watcher, run, session_of, watcher
from webapp.accounts import actor as actors
from webapp.accounts.models import ApiToken, Membership, Role, User
from webapp.accounts.standing import conditions_of
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison
from webapp.core import conditions
from webapp.core.problems import NotFound
from webapp.sharing import services as sharing
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


def by_link(comparison, secret: str, user: User | None = None, query: str = "") -> Watcher:
    stranger = watcher(comparison, user, query=query)
    stranger.scope["path"] = f"/ws/shared/{secret}/"
    return stranger


def change_password() -> None:
    bob = User.objects.get(username="bob")
    bob.set_password("another password")
    bob.save()


LONG_AGO = timezone.now() - timedelta(days=1)


def bob_leaves() -> None:
    Membership.objects.filter(user__username="bob").delete()


def victor_leaves() -> None:
    Membership.objects.filter(user__username="victor").delete()


ENDS: list[tuple[str, Callable[[], Any], str]] = [  # how a connection was opened, how that right ends, what is said
    ("session", lambda: Session.objects.all().delete(), SIGNED_OUT),
    ("session", lambda: Session.objects.update(expire_date=LONG_AGO), SIGNED_OUT),
    ("session", change_password, SIGNED_OUT),
    ("session", lambda: User.objects.update(is_active=False), SIGNED_OUT),
    ("session", bob_leaves, LEFT),
    ("session", lambda: Comparison.objects.all().delete(), NOT_THERE),
    ("token", lambda: ApiToken.objects.update(revoked_at=LONG_AGO), TOKEN_ENDED),
    ("token", lambda: ApiToken.objects.update(expires=LONG_AGO), TOKEN_ENDED),
    ("token", lambda: User.objects.update(is_active=False), TOKEN_ENDED),
    ("token", lambda: Membership.objects.all().delete(), LEFT),
    ("link", lambda: Share.objects.update(revoked_at=LONG_AGO), LINK_ENDED),
    ("link", lambda: Share.objects.update(expires=LONG_AGO), LINK_ENDED),
    ("link", lambda: Share.objects.all().delete(), LINK_ENDED),
    ("link", lambda: Comparison.objects.update(binned=LONG_AGO), LINK_ENDED),
]


def test_every_right_that_ends_breaks_the_conditions_of_what_it_opened(world, comparison, link):
    world.script("read")
    bob = User.objects.get(username="bob")
    there = conditions.Condition(conditions.still_exists(Comparison), comparison.pk, NotFound(NOT_THERE))
    opened = {
        "session": (*conditions_of(actors.of_user(bob), session_of(bob), bob.get_session_auth_hash()), there),
        "token": conditions_of(actors.of_token(ApiToken.objects.get()), ""),
        "link": sharing.conditions_of(Share.objects.get()),
    }
    assert not any(map(conditions.first_broken, opened.values()))
    for number, (how, end, sentence) in enumerate(ENDS):
        with transaction.atomic():
            end()
            problem = conditions.first_broken(opened[how])
            assert problem and problem.detail == sentence, number
            transaction.set_rollback(True)


def test_a_right_that_ends_closes_the_sockets_it_opened_and_makes_its_tickets_worthless(
    world, comparison, sample, link
):
    """A link's socket takes no ticket, whatever its query says."""
    tickets = [world.api(world.bob).post("/api/v1/tickets/").json()["ticket"] for _ in range(2)]
    by_ticket, late = (watcher(comparison, None, origin="", query=f"ticket={ticket}") for ticket in tickets)
    shared = by_link(comparison, link, query="ticket=x")

    async def story() -> None:
        for watching, end, ending in (
            (watcher(comparison, world.victor), victor_leaves, (4004, LEFT)),
            (by_ticket, change_password, (4001, SIGNED_OUT)),
            (shared, lambda: Share.objects.update(revoked_at=LONG_AGO), (4004, LINK_ENDED)),
        ):
            await watching.open(after={str(sample.pk): 0})
            await watching.until(lambda watching: watching.seqs(sample) == [1, 2])
            await sync_to_async(end)()
            assert await watching.closed() == ending
        await late.knock()
        assert (await late.closed())[0] == 4001 and late.frames == []

    run(story())


async def test_who_may_still_read_watches_on(world, comparison, sample, link):
    """A link shows on whoever else its reader no longer is, and a lower role may read."""
    reader, bob = by_link(comparison, link, world.bob), watcher(comparison, world.bob)
    for one in (reader, bob):
        await one.open(after={str(sample.pk): 0})
        await one.until(lambda one: one.seqs(sample) == [1, 2])
    await sync_to_async(Membership.objects.filter(user=world.bob).update)(role=Role.VIEWER)
    await sync_to_async(trace.append)(sample=sample, first_seq=3, events=[{"seq": 3}])
    for one in (reader, bob):
        await one.until(lambda one: one.seqs(sample) == [1, 2, 3])
    await bob.leave()
    await sync_to_async(Session.objects.all().delete)()
    await sync_to_async(trace.append)(sample=sample, first_seq=4, events=[{"seq": 4}])
    await reader.until(lambda reader: reader.seqs(sample) == [1, 2, 3, 4])
    await reader.leave()


def test_fifty_sockets_are_checked_with_as_many_queries_as_one(world, comparison, django_assert_num_queries):
    people = [User.objects.create(username=f"u{number}", password="!") for number in range(50)]
    for user in people:
        Membership.objects.create(team=world.team, user=user, role=Role.VIEWER)
    watching = conditions.Condition(conditions.still_exists(Comparison), comparison.pk, NotFound(NOT_THERE))
    fifty = [(*conditions_of(world.actor(user), f"s{user.pk}"), watching) for user in people]
    for some in (fifty[:1], fifty):
        with django_assert_num_queries(4):  # sessions, users, memberships, comparisons
            found = conditions.broken(some)
        assert len(found) == len(some)

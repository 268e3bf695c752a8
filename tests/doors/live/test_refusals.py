"""Rights to watch, their end, and unreadable messages: a code, a sentence, and nothing else."""

from __future__ import annotations

import json
import random
from uuid import uuid4

import pytest

from tests.kit.live import run, watcher
from webapp.live import following, watch_socket
from webapp.sharing import services as sharing

NOT_FOUND = (4004, "There is no comparison with this id, or you may not see it.")
NOBODY_HERE = (4001, "Nobody is signed in here.")
NOBODY = "00000000-0000-0000-0000-000000000000"

pytestmark = pytest.mark.django_db(transaction=True)


# Who may watch, and until when ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "origin", "ending"),
    [
        ("charlie", "http://localhost:8000", NOT_FOUND),
        (None, "http://localhost:8000", NOBODY_HERE),
        ("bob", "http://localhost:9999", watch_socket.FOREIGN),
        ("bob", "http://[", watch_socket.FOREIGN),
    ],
)
async def test_a_stranger_is_told_a_sentence_and_nothing_else(world, comparison, sample, who, origin, ending):
    stranger = watcher(comparison, getattr(world, who) if who else None, origin)
    await stranger.open()
    assert await stranger.closed() == ending
    assert stranger.frames == []


async def test_a_page_without_tls_opens_no_socket_with_it(world, comparison, sample):
    stranger = watcher(comparison, world.bob)
    stranger.scope["scheme"] = "wss"
    await stranger.open()
    assert await stranger.closed() == watch_socket.FOREIGN


async def test_an_address_that_asks_too_often_for_links_is_told_to_come_back(world, comparison):
    for _ in range(sharing.BY_ADDRESS.count):
        sharing.BY_ADDRESS.spend("")
    stranger = watcher(comparison, None)
    stranger.scope["path"] = "/ws/shared/guess/"
    await stranger.open()
    code, sentence = await stranger.closed()
    assert code == watch_socket.BROKEN[0] and "tries" in sentence


def test_a_ticket_opens_one_socket_once(world, comparison):
    ticket = world.script("read").post("/api/v1/tickets/").json()["ticket"]

    async def story() -> None:
        first, second = (watcher(comparison, None, origin="", query=f"ticket={ticket}") for _ in range(2))
        await first.open()
        await first.until(lambda first: first.heard("comparison"))
        await first.leave()
        await second.open()
        assert await second.closed() == (4001, "This ticket was used before or has expired.")

    run(story())


def test_a_ticket_of_another_team_opens_nothing_here(world, comparison):
    ticket = world.api(world.charlie).post("/api/v1/tickets/").json()["ticket"]

    async def story() -> None:
        stranger = watcher(comparison, None, origin="", query=f"ticket={ticket}")
        await stranger.open()
        assert await stranger.closed() == NOT_FOUND

    run(story())


# What cannot be read -------------------------------------------------------------------------------------------------


MANY = json.dumps({"t": "follow", "after": {str(uuid4()): 0 for _ in range(following.MOST_FOLLOWED + 1)}})


async def test_what_cannot_be_read_ends_the_line_with_a_sentence(bob):
    for message, why in (
        ('{"t": "launch"}', "must be"),
        ('{"t": "follow", "after": {"x": 1}}', "not an id"),
        (f'{{"t": "follow", "after": {{"{NOBODY}": -1}}}}', "whole number"),
        ('{"t": "follow", "after": [1]}', "for each sample"),
        ('{"t": "follow", "since": "2026-13-45T99:00:00Z"}', "since"),
        (MANY, "can be followed at once"),
        (" " * 70_000, "at most"),
    ):
        with pytest.raises(following.Unreadable, match=why):
            following.read_follow(message)
    await bob.knock()
    await bob.say("{")
    code, sentence = await bob.closed()
    assert code == 4008 and "not JSON" in sentence


async def test_an_unknown_sample_and_a_cursor_beyond_the_end_are_harmless(sample, bob):
    await bob.open(after={NOBODY: 5, str(sample.pk): 999})
    await bob.until(lambda bob: bob.heard("report"))
    await bob.leave()
    assert bob.seqs(sample) == []


def test_ten_thousand_spoiled_messages_are_read_or_refused_in_a_sentence():
    """Each message is understood or `Unreadable`; no other error occurs, and no state is kept anywhere."""
    dice = random.Random(8)
    good = json.dumps({"t": "follow", "since": "2026-01-01T00:00:00Z", "after": {str(uuid4()): 7, NOBODY: 0}})
    refused = 0
    for _ in range(10_000):
        spoiled = list(good)
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(spoiled))
            spoiled[at : at + dice.randint(0, 3)] = dice.choice(
                ['"', "{", "}", "[", "\\", "9" * 40, "-1", "e9", "null", "\0", "𝟘"]
            )
        try:
            following.read_follow("".join(spoiled))
        except following.Unreadable:
            refused += 1
    assert 9_000 < refused < 10_000

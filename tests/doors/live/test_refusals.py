"""Rights to watch, and unreadable messages: a code, a sentence, and nothing else."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from tests.kit.live import run, watcher
from webapp.live import following, watch_socket
from webapp.sharing import services as sharing

NOT_FOUND = (4004, "There is no comparison with this id, or you may not see it.")
NOBODY_HERE = (4001, "Nobody is signed in here.")
NOBODY = "00000000-0000-0000-0000-000000000000"
OURS = "http://localhost:8000"

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_stranger_is_told_a_sentence_and_nothing_else(world, comparison, sample):
    """A page without TLS opens no socket with it, nor does one that is not ours."""
    for who, origin, scheme, ending in (
        (world.charlie, OURS, "ws", NOT_FOUND),
        (None, OURS, "ws", NOBODY_HERE),
        (world.bob, OURS, "wss", watch_socket.FOREIGN),
        (world.bob, "http://localhost:9999", "ws", watch_socket.FOREIGN),
        (world.bob, "http://[", "ws", watch_socket.FOREIGN),
    ):
        stranger = watcher(comparison, who, origin)
        stranger.scope["scheme"] = scheme
        await stranger.open()
        assert await stranger.closed() == ending and stranger.frames == []
    of_job = watcher(comparison, world.charlie)
    of_job.scope["path"] = f"/ws/jobs/{comparison.job.pk}/"
    await of_job.open()
    code, sentence = await of_job.closed()
    assert code == 4004 and "There is no job" in sentence and of_job.frames == []
    for _ in range(sharing.BY_ADDRESS.count):
        sharing.BY_ADDRESS.spend("")
    guess = watcher(comparison, None)
    guess.scope["path"] = "/ws/shared/guess/"
    await guess.open()
    code, sentence = await guess.closed()
    assert code == watch_socket.BROKEN[0] and "tries" in sentence


def test_a_ticket_opens_one_socket_once_and_none_of_another_team_nor_for_a_page_that_is_not_ours(world, comparison):
    def opened(ticket, **asked):
        return watcher(comparison, None, query=f"ticket={ticket}", **{"origin": "", **asked})

    tickets = [world.script("read").post("/api/v1/tickets/").json()["ticket"] for _ in range(2)]
    theirs = world.api(world.charlie).post("/api/v1/tickets/").json()["ticket"]
    link = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", {}).json()["link"]

    async def story() -> None:
        first = opened(tickets[0])
        await first.open()
        await first.until(lambda first: first.heard("comparison"))
        await first.leave()
        shared = watcher(comparison, world.bob, "http://elsewhere.example")
        shared.scope["path"] = f"/ws/shared/{link.rstrip('/').rpartition('/')[2]}/"
        for late, ending in (
            (opened(tickets[0]), (4001, "This ticket was used before or has expired.")),
            (opened(theirs), NOT_FOUND),
            (opened(tickets[1], origin="http://elsewhere.example"), watch_socket.FOREIGN),
            (shared, watch_socket.FOREIGN),
        ):
            await late.knock()
            assert await late.closed() == ending and late.frames == []

    run(story())


MANY = json.dumps({"t": "follow", "after": {str(uuid4()): 0 for _ in range(following.MOST_FOLLOWED + 1)}})


async def test_what_cannot_be_read_ends_the_line_with_a_sentence(bob):
    for message, why in (
        ("[1]", "must be"),
        ('{"t": "launch"}', "must be"),
        ('{"t": "follow", "after": {"x": 1}}', "not an id"),
        (f'{{"t": "follow", "after": {{"{NOBODY}": -1}}}}', "whole number"),
        ('{"t": "follow", "after": [1]}', "for each sample"),
        ('{"t": "follow", "since": "2026-13-45T99:00:00Z"}', "since"),
        ('{"t": "follow", "since": 5}', "since"),
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

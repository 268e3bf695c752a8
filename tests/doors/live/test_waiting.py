"""Requests that wait for news, through the server's own entry: woken, bounded, and neither thread nor turn held. They
get the frames of a socket from the same cursors."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.sessions.models import Session
from django.utils import timezone

from tests.kit import make
from tests.kit.live import PATIENCE, run, session_of
from webapp.accounts.models import Membership, User
from webapp.comparisons import services, trace
from webapp.comparisons.models import Comparison, Sample
from webapp.core import conditions, holding, news
from webapp.core.waiting import AT_WORK
from webapp.jobs import log
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.sharing.models import Share

SINCE = "since=2030-01-01T00:00:00Z"

pytestmark = pytest.mark.django_db(transaction=True)


class Asking:
    """One request on its way."""

    def __init__(self, path: str, user: User | None = None, address: str = "192.0.2.1", token: str = "") -> None:
        headers = [(b"host", b"localhost:8000")]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        path, _, query = path.partition("?")
        self.user = user
        self.scope = {
            "type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers,
            "client": (address, 1), "http_version": "1.1",
        }  # fmt: skip

    async def send(self) -> Asking:
        from webapp.config.asgi import application

        if self.user is not None:
            session = await sync_to_async(session_of)(self.user)
            self.scope["headers"].append((b"cookie", f"dh_session={session}".encode()))
        self.line = ApplicationCommunicator(application, self.scope)
        await self.line.send_input({"type": "http.request", "body": b""})
        return self

    async def answer(self) -> tuple[int, dict[str, Any]]:
        start = await self.line.receive_output(PATIENCE)
        self.headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        body = b""
        while True:
            message = await self.line.receive_output(PATIENCE)
            body += message.get("body", b"")
            if not message.get("more_body"):
                await self.line.wait(PATIENCE)
                assert int(self.headers["content-length"]) == len(body)
                return start["status"], json.loads(body)

    async def leave(self) -> None:
        await self.line.send_input({"type": "http.disconnect"})
        await self.line.wait(PATIENCE)


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not found():
            await asyncio.sleep(0.01)


def held() -> int:
    """How many requests wait."""
    return holding._room.taken[""]


def listeners() -> int:
    return sum(len(one.readers) for its in news._subscriptions.values() for one in its.values())


async def waiting(*askings: Asking) -> None:
    """Send them, and wait until all are held and have looked for themselves."""
    for asking in askings:
        await asking.send()
    await until(lambda: held() == len(askings) == listeners())


@pytest.fixture
def roads(comparison: Comparison, sample: Sample) -> dict[str, str]:
    """Addresses at which nothing is new until `write_more` brings the third event, or a line of the job's log."""
    job, last = comparison.job_id, last_line(comparison.job_id)
    return {
        "comparison": f"/api/v1/comparisons/{comparison.pk}/events/?{SINCE}&after={sample.pk}:2&wait=25",
        "trace": f"/api/v1/samples/{sample.pk}/trace/?after=2&wait=25",
        "job": f"/api/v1/jobs/{job}/news/?after={job}:{last}&wait=25",
        "job's log": f"/api/v1/jobs/{job}/events/?after={last}&wait=25",
    }


def last_line(job: Any) -> int:
    return max((line.seq for line in log.read(job=job, after=0, limit=500)), default=0)


def write_more(job: Job, sample: Sample) -> None:
    trace.append(sample=sample, first_seq=3, events=[{"seq": 3}])
    log.add(job, "It goes on.")
    jobs.renew(job=job, done=1)


def new_in(body: dict[str, Any]) -> list[int]:
    frames = body["frames"] if "frames" in body else [{"t": "events", "events": body["events"]}]
    return [event["seq"] for frame in frames if frame["t"] == "events" for event in frame["events"]]


async def test_news_wake_who_waits_and_when_the_time_is_over_the_answer_says_that_nothing_is_new(
    world, job, sample, roads, monkeypatch
):
    monkeypatch.setattr(news, "LOOK_AGAIN", 3600)
    askings = {road: Asking(address, world.bob) for road, address in roads.items()}
    await waiting(*askings.values())
    await sync_to_async(write_more)(job, sample)
    line = await sync_to_async(last_line)(job.pk)
    for road, asking in askings.items():
        status, body = await asking.answer()
        assert (status, new_in(body)) == (200, [3 if road in ("comparison", "trace") else line]), road
    assert held() == 0
    late = Asking(roads["trace"].replace("after=2&wait=25", "after=3&wait=1"), world.bob)
    await late.send()
    await until(lambda: held() == 1)
    status, body = await late.answer()
    assert (status, body["events"], body["last_seq"]) == (200, [], 3)
    assert late.headers["x-request-id"] and late.headers["content-type"] == "application/json"


async def test_many_who_wait_hold_no_thread_and_no_turn(world, comparison, job, sample, roads):
    """Three times as many as may be at work; the next request is answered all the same."""
    askings = [Asking(roads["comparison"], world.bob) for _ in range(3 * AT_WORK)]
    next_one = Asking("/api/v1/me/", world.bob)
    before = threading.active_count()
    await waiting(*askings)
    assert (await (await next_one.send()).answer())[0] == 200
    await until(lambda: threading.active_count() <= before + 2 * AT_WORK)  # the loop's own few stay
    await sync_to_async(write_more)(job, sample)
    for asking in askings:
        status, body = await asking.answer()
        assert (status, new_in(body)) == (200, [3])


async def test_who_hangs_up_leaves_nothing_behind(world, roads):
    askings = [Asking(road, world.bob) for road in roads.values()]
    await waiting(*askings)
    for asking in askings:
        await asking.leave()
    await until(lambda: held() == 0 and listeners() == 0)


@pytest.mark.parametrize(
    ("limit", "status", "code"),
    [("MOST_EACH", 429, "too-many-requests"), ("MOST_BY_ADDRESS", 429, "too-many-requests"), ("MOST", 503, "busy")],
)
async def test_more_than_may_wait_are_told_when_to_come_back(world, monkeypatch, limit, status, code, roads):
    monkeypatch.setattr(holding, limit, 2)
    road = roads["trace"]
    first, third = [Asking(road, world.bob) for _ in range(2)], Asking(road, world.bob)
    others = {"MOST_EACH": Asking(road, world.victor), "MOST_BY_ADDRESS": Asking(road, world.bob, "192.0.2.2")}
    await waiting(*first)
    told, problem = await (await third.send()).answer()
    assert (told, problem["code"], problem["status"]) == (status, code, status)
    assert int(third.headers["retry-after"]) > 0
    assert problem["request_id"] == third.headers["x-request-id"]
    if limit in others:
        await others[limit].send()
        await until(lambda: held() == 3)
        await others[limit].leave()
    for asking in first:
        await asking.leave()


async def test_asking_to_wait_where_nothing_waits_takes_a_turn_like_any_other(db):
    """`?wait` used to lift the limit on any address."""
    askings = [Asking("/sign-in/?wait=1") for _ in range(8 * AT_WORK)]
    before = threading.active_count()
    for asking in askings:
        await asking.send()
    most = 0
    answers = asyncio.gather(*(until(asking.line.output_queue.qsize) for asking in askings))
    while not answers.done():
        most = max(most, threading.active_count())
        await asyncio.sleep(0)
    assert most <= before + 2 * AT_WORK + 6  # some are on their way out, and the loop has a few of its own
    for asking in askings:
        await asking.line.wait(PATIENCE)


def test_a_right_that_ends_ends_the_waiting(world, comparison, monkeypatch, roads):
    monkeypatch.setattr(conditions, "CHECK_EVERY", 0.05)
    link = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", {}).json()["link"]
    query = roads["comparison"].partition("?")[2]
    shared = Asking(f"/shared/{link.rstrip('/').rpartition('/')[2]}/events/?{query}")
    askings = [Asking(road, world.bob) for road in roads.values()]

    async def story() -> None:
        await waiting(shared, *askings)
        await sync_to_async(Share.objects.update)(revoked_at=timezone.now() - timedelta(days=1))
        assert (await shared.answer())[0] == 410
        await sync_to_async(Membership.objects.filter(user__username="bob").delete)()
        assert [(await asking.answer())[0] for asking in askings] == [403] * 4

    run(story())


async def test_news_that_come_after_the_right_has_ended_are_not_told(world, job, sample, roads):
    """The guard has not looked yet; whoever answers looks first."""
    asking = Asking(roads["trace"], world.bob)
    await waiting(asking)
    await sync_to_async(Session.objects.all().delete)()
    await sync_to_async(write_more)(job, sample)
    assert (await asking.answer())[0] == 401


def ask(client, comparison, query=""):
    answer = client.get(f"/api/v1/comparisons/{comparison.pk}/events/?{query}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def kinds(answer):
    return [frame["t"] for frame in answer["frames"]]


def events(answer):
    return [frame["events"] for frame in answer["frames"] if frame["t"] == "events"]


def test_a_script_reads_all_of_it_by_asking_on(world, comparison):
    bob = world.api(world.bob)
    waiting = ask(bob, comparison)
    assert kinds(waiting) == ["comparison", "samples", "report"]
    status = waiting["frames"][0]
    assert (status["state"], status["position"], status["done"], status["total"]) == ("queued", 1, 0, 6)
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    trace.append(sample=sample, first_seq=1, events=[{"seq": 1}], words={7: " the"})
    first = ask(bob, comparison)
    told = [frame for frame in first["frames"] if frame["t"] == "events"]
    assert told == [{"t": "events", "sample": str(sample.pk), "events": [{"seq": 1}], "words": {"7": " the"}}]
    trace.append(sample=sample, first_seq=2, events=[{"seq": 2}])
    second = ask(bob, comparison, first["next"])
    assert events(second) == [[{"seq": 2}]] and events(ask(bob, comparison, second["next"])) == []


def test_the_time_left_is_told_by_the_pace_of_samples_and_not_by_how_long_models_took_to_load(world, comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    make.decode_one(job, runs[0], prompt, repeat)
    Sample.objects.update(created=timezone.now() - timedelta(seconds=10))
    Job.objects.update(started=timezone.now() - timedelta(hours=1))
    status = ask(world.api(world.bob), comparison)["frames"][0]
    assert (status["done"], status["total"]) == (1, 6)
    assert 50 <= status["seconds_left"] < 500  # and not five hours


def test_what_cannot_be_read_is_refused_by_name(world, comparison):
    queries = {"after=x:1": "after", "after=1": "after", "since=now": "since", "wait=26": "wait", "wat=1": "wat"}
    for query, field in queries.items():
        answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/events/?{query}")
        assert (answer.status_code, answer.json()["field"]) == (400, field)

"""A link shows one comparison to whoever has it, live too, and nothing else; until it is revoked or expires."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.kit import make
from webapp.comparisons.models import Comparison, Sample, TraceChunk
from webapp.comparisons.packing import pack
from webapp.comparisons.redaction import for_strangers, without_texts
from webapp.sharing import services
from webapp.sharing.models import Share


@pytest.fixture
def comparison(by) -> Comparison:
    comparison = make.comparison(by)
    make.decode_all(comparison)
    return comparison


def link_to(world, comparison, **asked) -> str:
    answer = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", asked)
    assert answer.status_code == 201, answer.json()
    return answer.json()["link"].removeprefix("http://testserver")


def test_whoever_has_the_link_sees_the_comparison_its_news_and_nothing_to_press(world, comparison):
    link = link_to(world, comparison)
    shown = world.page(None).get(link).content.decode()
    assert "static:4 ran at 2.00 times" in shown and "prompt 1" in shown
    for forbidden in ("Clone", "Cancel", "Share", "/pairs/", "/datasets/", "/api/v1/", "w1", "Alice"):
        assert forbidden not in shown, forbidden
    sample = Sample.objects.first()
    frames = world.api(None).get(f"{link}events/?after={sample.pk}:0").json()["frames"]
    assert [event["event"] for frame in frames if frame["t"] == "events" for event in frame["events"]][-1] == "finished"
    assert world.api(None).get(f"{link}events/?after=x").status_code == 400
    other = make.comparison(world.actor(world.alice))
    make.decode_all(other)
    sample = Sample.objects.filter(run__comparison=other).first()
    frames = world.api(None).get(f"{link}events/?after={sample.pk}:0").json()["frames"]
    assert "events" not in {frame["t"] for frame in frames}
    secret = link.strip("/").rpartition("/")[2]
    assert secret not in str(Share.objects.values().get()), "only its digest is stored"
    assert Share.objects.get().expires is not None, "a month, unless somebody asks for ever"


def test_a_link_may_show_only_numbers(world, comparison):
    for chunk in TraceChunk.objects.all():
        TraceChunk.objects.filter(pk=chunk.pk).update(packed=pack(chunk.content[0], {"5": "secret"}))
    link = link_to(world, comparison, hides_texts=True)
    shown = world.page(None).get(link).content.decode()
    page = json.loads(re.search(r'<script id="page" type="application/json">(.*?)</script>', shown)[1])
    assert page["prompts"] == [{"number": number, "category": "", "text": ""} for number in (1, 2, 3)]
    assert "prompt 1" not in shown and "secret" not in shown and "category&quot;" not in shown
    sample = Sample.objects.filter(run__strategy="static").first()
    frames = world.api(None).get(f"{link}events/?after={sample.pk}:0").json()["frames"]
    told = [event for frame in frames if frame["t"] == "events" for event in frame["events"]]
    assert [event["tokens"] for event in told if event["event"] == "drafted"] == [[0, 0]]
    assert {event["token"] for event in told if event["event"] == "verified"} == {0}
    assert all(frame["words"] == {} for frame in frames if frame["t"] == "events")


def test_strangers_are_not_told_why_a_job_waits_or_failed_nor_the_tokens_of_branches():
    told = {"sentence": "/srv/weights is gone", "trouble": "Worker w1@host does not answer.", "setback": "w1 went."}
    shown = for_strangers({"t": "comparison", "state": "failed", **told, "position": 3, "can_cancel": True})
    assert (shown["sentence"], shown["position"], shown["can_cancel"]) == ("It did not finish.", 0, False)
    assert shown["trouble"] == shown["setback"] == ""
    events = [{"event": "anticipated", "branches": [[3, 17, 2]]}, {"event": "prompted", "prompt": [5, 7]}]
    assert without_texts({"t": "events", "words": {"17": "x"}, "events": events})["events"] == [
        {"event": "anticipated", "branches": [[3, 0, 2]]}, {"event": "prompted", "prompt": []},
    ]  # fmt: skip


@pytest.mark.parametrize("end", [{"revoked_at": timezone.now()}, {"expires": timezone.now() - timedelta(seconds=1)}])
def test_a_link_that_ended_shows_nothing_not_even_the_file_that_is_made_once_a_minute(world, comparison, end):
    link = link_to(world, comparison)
    first = world.page(None).get(f"{link}file/")
    with CaptureQueriesContext(connection) as again:
        assert world.page(None).get(f"{link}file/").content == first.content
    assert b"base-uri 'none'; form-action 'none'" in first.content
    assert first["Cache-Control"] == "private, no-store" and "trace" not in str(again.captured_queries)
    Share.objects.update(**end)
    for path in (link, f"{link}events/", f"{link}file/", "/shared/unknown/"):
        assert world.page(None).get(path).status_code == 410


def test_links_are_made_listed_and_revoked_on_a_page(world, comparison):
    bob = world.page(world.bob)
    made = bob.post(f"/comparisons/{comparison.pk}/shares/", {"days": 7, "hides_texts": "on"})
    assert "/shared/" in made.content.decode()
    share = Share.objects.get()
    assert share.hides_texts and share.expires > timezone.now() + timedelta(days=6)
    assert "numbers only" in bob.get(f"/comparisons/{comparison.pk}/shares/").content.decode()
    assert bob.post(f"/shares/{share.pk}/revoke/").status_code == 302
    assert not Share.objects.get().is_open


def test_links_take_so_many_requests_from_an_address_and_in_all(world, comparison):
    link, other = link_to(world, comparison), link_to(world, comparison)
    for _ in range(services.COSTLY_BY_ADDRESS.count):
        services.COSTLY_BY_ADDRESS.spend("127.0.0.1")
    refused = world.page(None).get(f"{link}file/")
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}
    assert world.page(None).get(f"{link}file/", **elsewhere).status_code == 200
    for _ in range(services.COSTLY.count - 1):
        services.COSTLY.spend(str(Share.objects.earliest("created").pk))
    assert world.page(None).get(f"{link}file/", **elsewhere).status_code == 429
    assert world.page(None).get(f"{other}file/", **elsewhere).status_code == 200
    assert world.page(world.bob).get(f"/comparisons/{comparison.pk}/").status_code == 200
    for _ in range(services.BY_ADDRESS.count):  # guesses and news
        services.BY_ADDRESS.spend("127.0.0.1")
    assert world.api(None).get("/shared/guess/events/").status_code == 429

"""A page that is opened names what it needs at once: its modules in the head, the traces it shows first in its body."""

from __future__ import annotations

import json
import posixpath
import re

from django.conf import settings

from tests.webapp import make
from webapp.comparisons.models import Sample
from webapp.comparisons.redaction import without_texts
from webapp.core.templatetags.modules import charts_at


def opened(client, path, **headers):
    text = client.get(path, **headers).content.decode()
    return text, json.loads(re.search(r'<script id="page" type="application/json">(.*?)</script>', text)[1])


def test_every_module_of_the_page_is_named_in_its_head(world, comparison):
    text, _ = opened(world.page(world.bob), f"/comparisons/{comparison.pk}/")
    named = set(re.findall(r'<link rel="modulepreload" href="/static/([^"]+)">', text))
    folder = settings.BASE_DIR / "static"
    pages_own = {"js/pages/comparison.js"}
    reached = {
        posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        for path in named | pages_own
        for name in re.findall(r'(?:from|import) "(\.[^"]+)"', (folder / path).read_text())
    }
    charts = {name for place in ("text", "comparison-top", "comparison") for name in charts_at(place)}
    assert charts and reached | charts == named


def test_a_finished_page_brings_the_traces_of_the_heat_it_shows(world, comparison):
    make.decode_all(comparison)
    _, page = opened(world.page(world.bob), f"/comparisons/{comparison.pk}/")
    last = Sample.objects.filter(run__comparison=comparison).order_by("created").last()
    heat = Sample.objects.filter(run__comparison=comparison, prompt=last.prompt, repeat=last.repeat)
    whole = [frame["sample"] for frame in page["frames"] if frame["t"] == "complete"]
    assert sorted(whole) == sorted(str(sample.pk) for sample in heat)
    seqs = [event["seq"] for frame in page["frames"] if frame["t"] == "events" for event in frame["events"]]
    assert len(seqs) == sum(sample.last_seq for sample in heat)


def test_a_page_that_is_live_asks_for_them_where_they_still_grow(world, comparison):
    assert opened(world.page(world.bob), f"/comparisons/{comparison.pk}/")[1]["frames"] == []


def test_a_link_that_hides_texts_hides_them_in_what_the_page_brings_too(world, comparison):
    make.decode_all(comparison)
    asked = {"hides_texts": True}
    link = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", asked).json()["link"]
    _, page = opened(world.page(None), link.removeprefix("http://testserver"))
    told = [event for frame in page["frames"] if frame["t"] == "events" for event in frame["events"]]
    assert told and all(set(event.get("tokens", [0])) <= {0} and event.get("token", 0) == 0 for event in told)
    assert all(frame.get("words", {}) == {} for frame in page["frames"])


def test_it_travels_compressed(world, comparison):
    make.decode_all(comparison)
    client = world.page(world.bob)
    answer = client.get(f"/comparisons/{comparison.pk}/", HTTP_ACCEPT_ENCODING="gzip")
    assert answer["Content-Encoding"] == "gzip"
    assert len(answer.content) < len(client.get(f"/comparisons/{comparison.pk}/").content) / 2


def test_runs_of_one_strategy_share_its_colour_and_are_told_apart_by_their_dashes(world):
    lookaheads = [{"strategy": "static", "params": {"lookahead": k}} for k in (2, 4, 6)]
    made = make.comparison(world.actor(world.bob), strategies=[*lookaheads, {"strategy": "oracle", "params": {}}])
    _, page = opened(world.page(world.bob), f"/comparisons/{made.pk}/")
    assert [run["dash"] for run in page["runs"]] == ["", "", "dash-2nd", "dash-3rd", "dash-unranked"]


def test_a_link_that_hides_texts_hides_the_tokens_of_prompts():
    frame = {"t": "events", "words": {}, "events": [{"event": "prompted", "seq": 2, "prompt": [5, 7], "end_ns": 1}]}
    [shown] = without_texts(frame)["events"]
    assert shown["prompt"] == []

"""A page that is opened brings what it shows first: every row, and the traces of one prompt."""

from __future__ import annotations

import json
import re
import zlib

from tests.kit import make
from webapp.comparisons import trace
from webapp.comparisons.models import Sample, TraceChunk
from webapp.comparisons.packing import unpack


def opened(client, path, **headers):
    text = client.get(path, **headers).content.decode()
    return text, data(text, "page")


def data(text, name):
    """Data that a page hands to its script."""
    return json.loads(re.search(f'<script id="{name}" type="application/json">(.*?)</script>', text)[1])


def unpacked(columns):
    """Rows and words of what the page brings packed, as the script reads them."""
    return unpack(zlib.compress(json.dumps(columns).encode()))


def test_a_finished_page_brings_the_traces_it_shows_and_every_row_compressed(world, comparison):
    client, at = world.page(world.bob), f"/comparisons/{comparison.pk}/"
    assert unpacked(data(opened(client, at)[0], "rows"))[0] == []
    make.decode_all(comparison)
    text, _ = opened(client, at)
    last = Sample.objects.filter(run__comparison=comparison).order_by("created").last()
    heat = Sample.objects.filter(run__comparison=comparison, prompt=last.prompt, repeat=last.repeat)
    whole = {one["sample"]: [unpacked(part) for part in one["parts"]] for one in data(text, "traces")}
    told = {str(pk): [(events, words)] for pk, events, words in trace.read_all(heat.values_list("pk", flat=True))}
    assert whole == told and len(whole) == heat.count()
    news = client.get(f"/api/v1/comparisons/{comparison.pk}/events/").json()["frames"]
    rows, _ = unpacked(data(text, "rows"))
    assert rows == next(frame["rows"] for frame in news if frame["t"] == "samples")
    assert len(rows) == Sample.objects.count() and {"drafts_by_position", "audit", "span"} <= rows[0].keys()
    answer = client.get(at, HTTP_ACCEPT_ENCODING="gzip")
    assert answer["Content-Encoding"] == "gzip" and len(answer.content) < len(client.get(at).content) / 2


def test_what_a_page_brings_cannot_end_its_script(world, comparison):
    make.decode_all(comparison)
    chunk = TraceChunk.objects.order_by("pk").last()
    TraceChunk.objects.filter(pk=chunk.pk).update(packed=None, events=chunk.content[0], words={"5": "</script><b>&"})
    text, _ = opened(world.page(world.bob), f"/comparisons/{comparison.pk}/")
    assert "</script><b>" not in text
    assert "</script><b>&" in [
        word for one in data(text, "traces") for part in one["parts"] for word in part["words"].values()
    ]


def test_a_link_that_hides_texts_hides_them_in_what_the_page_brings_too(world, comparison):
    make.decode_all(comparison)
    asked = {"hides_texts": True}
    link = world.api(world.bob).post(f"/api/v1/comparisons/{comparison.pk}/shares/", asked).json()["link"]
    text, _ = opened(world.page(None), link.removeprefix("http://testserver"))
    parts = [unpacked(part) for one in data(text, "traces") for part in one["parts"]]
    told = [event for events, _ in parts for event in events]
    assert told and all(set(event.get("tokens", [0])) <= {0} and event.get("token", 0) == 0 for event in told)
    assert all(words == {} for _, words in parts)


def test_runs_of_one_strategy_share_its_colour_and_are_told_apart_by_their_dashes(world):
    lookaheads = [{"strategy": "static", "params": {"lookahead": k}} for k in (2, 4, 6)]
    made = make.comparison(world.actor(world.bob), strategies=[*lookaheads, {"strategy": "oracle", "params": {}}])
    _, page = opened(world.page(world.bob), f"/comparisons/{made.pk}/")
    assert [run["dash"] for run in page["runs"]] == ["", "", "dash-2nd", "dash-3rd", "dash-unranked"]

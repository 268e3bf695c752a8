"""The hardware of each strategy stands beside its speed-up; for more devices than the baseline's, so does the speed-up
per device."""

from __future__ import annotations

import pytest

from decoding.measure.devices import devices_in, works_at_once
from tests.kit import make
from webapp.comparisons.models import Comparison
from webapp.comparisons.report import report


@pytest.fixture
def comparison(world):
    made = make.comparison(world.actor(world.bob))
    make.decode_all(made)
    return made


@pytest.mark.parametrize(
    ("words", "count", "at_once"),
    [
        ("1 core", 1, False),
        ("2 cores: target on 0, draft on 1", 2, True),
        ("12 cores, one of them for the draft; this system does not let us choose which", 12, True),
        ("cuda:0", 1, False),
        ("cuda:0 for the target, core 1 for the draft", 2, True),
        ("cuda:0, shared by target and draft on two streams", 1, True),
    ],
)
def test_devices_are_counted_as_the_engine_states_them(words, count, at_once):
    assert devices_in(words) == count
    assert works_at_once(words) is at_once


def test_a_speed_up_bought_with_a_second_device_is_shared_out(world, comparison):
    stated = {"autoregressive": "1 core", "static:4": "2 cores: target on 0, draft on 1"}
    comparison.hardware = {"by_strategy": stated}
    comparison.save()
    alone, static = report(comparison)["strategies"]
    assert (alone["hardware"], static["hardware"]) == tuple(stated.values())
    assert alone["per_device"] == 1.0
    assert static["per_device"] == pytest.approx(static["speedup"]["ratio"] / 2)
    page = world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "2 cores: target on 0, draft on 1" in page and "Per device" in page


def test_under_load_the_page_says_why_requests_waited_and_tokens_are_divided_by_devices(world):
    waits = "1 core; memory holds the caches of 2 texts of 512 tokens, so other requests wait"
    made = make.comparison(world.actor(world.bob), concurrency=[1, 4])
    stated = {"autoregressive": "1 core", "static:4": "1 core", "autoregressive @4": waits}
    made.hardware = {"by_strategy": {**stated, "static:4 @4": "2 cores: target on 0, draft on 1"}}
    made.save()
    make.decode_all(made)
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/").content.decode()
    assert "<summary>Hardware</summary>" in page and waits in page and "Per device" in page
    assert "2 cores: target on 0, draft on 1" in page
    rows = {row["label"]: row["tokens_per_s_device"] for row in report(made)["strategies"]}
    Comparison.objects.update(hardware={})
    whole = {row["label"]: row["tokens_per_s_device"] for row in report(Comparison.objects.get())["strategies"]}
    assert rows == {**whole, "static:4 @4": pytest.approx(whole["static:4 @4"] / 2)}


def test_where_no_worker_said_what_it_had_nothing_is_made_up(world, comparison):
    assert [row["per_device"] for row in report(comparison)["strategies"]] == [None, None]
    assert "Per device" not in world.page(world.bob).get(f"/comparisons/{comparison.pk}/").content.decode()

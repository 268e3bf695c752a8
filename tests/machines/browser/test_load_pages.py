"""Comparisons under load in a real browser: requests while they are served side by side, replayed, and the results."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit.browser import grave_faults, mode, path_of, shows

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def lane(page, run: int, what: str):
    return page.locator(f"[data-lane='{run}'] [data-number='{what}']")


def test_texts_that_are_written_side_by_side_miss_nothing_and_any_is_shown_on_a_click(open_page, hire):
    worker = hire("autoregressive", "static:4", concurrency=[3])
    page = open_page(path_of(worker))
    mode(page, "live")
    worker.claim()
    together = worker.begin_together("static:4 @3")
    for upto in (3, 6, 9):
        for sample in together:
            sample.write(upto)
    for what in ("running", "begun"):
        expect(lane(page, 2, what)).to_have_text("3")
    expect(page.locator("#text-of")).to_have_text("as static:4 @3 wrote it")
    for sample in reversed(together):
        sample.finish()
    expect(lane(page, 2, "running")).to_have_text("0")
    for number in (1, 3):  # one bar above the other
        bars = page.locator("[data-lane='2'] .track")
        bars.click(position={"x": 40, "y": bars.bounding_box()["height"] * (number - 0.5) / 3})
        expect(page.locator("#heat")).to_contain_text(f"Prompt {number} of 3")
        shows(page, together[number - 1].tokens)
    page.reload()
    expect(page.locator("#heat")).to_contain_text("Prompt 3 of 3")


def test_requests_under_load_are_replayed_and_results_are_read_at_each_load(open_page, hire):
    worker = hire("autoregressive", "static:4", concurrency=[1, 4], rate=[2], slo="ttft=500ms")
    worker.claim()
    worker.finish_all()
    page = open_page(path_of(worker) + "#strategy=static:4+@4&prompt=1", viewport={"width": 390, "height": 800})
    mode(page, "finished")
    is_replayed_and_any_text_is_read_at_that_moment(page)
    expect(page.locator("#forest-title")).to_contain_text("over autoregressive @4")
    expect(page.locator("tr.load").nth(1)).to_contain_text("4 at once")
    for chart in ("load-front", "load-speedup", "load-latency"):
        section = page.locator(f"section:has(> #{chart})")
        expect(section.locator(".sentence")).not_to_be_empty()
        section.locator("summary").click()
        expect(section.locator("tbody tr").first).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    assert grave_faults(page) == []
    page.select_option("#baseline", label="static:4")
    expect(page.locator("tr.pinned")).to_have_count(3)


def is_replayed_and_any_text_is_read_at_that_moment(page) -> None:
    expect(page.locator("#text-of")).to_have_text("as static:4 @4 wrote it")
    expect(page.locator("#strip .round")).not_to_have_count(0)
    whole, bars = page.locator("#strip .round").count(), page.locator("[data-lane='4'] .track .over")
    drawn = bars.get_attribute("d")
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(page.locator("#strip .round")).to_have_count(0)
    expect(bars).to_have_attribute("d", "")
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Replay")  # it ends by itself
    expect(page.locator("#strip .round")).to_have_count(whole)
    expect(bars).to_have_attribute("d", drawn)
    page.focus("#scrub")
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("PageUp")
    moment = page.input_value("#scrub")
    page.locator("[data-lane='3'] .track").click(position={"x": 5, "y": 3})
    expect(page.locator("#text-of")).to_have_text("as autoregressive @4 wrote it")
    expect(page.locator("#scrub")).to_have_value(moment)  # the replay stays where it was

"""Runs of all comparisons in a real browser: drawn, brushed by mouse and by key, kept as a view, found again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit.browser import grave_faults, grave_faults_of_both_themes
from tests.webapp.browser.conftest import STRATEGIES
from webapp.comparisons import figures
from webapp.comparisons.models import Figures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def spread() -> None:
    """As if lookaheads and machines had made a difference."""
    figures.sum_up_ended(seconds=60)
    for rank, row in enumerate(Figures.objects.order_by("run__number")):
        gain = 1 + 0.2 * rank
        Figures.objects.filter(pk=row.pk).update(
            speedup=gain, speedup_low=gain - 0.1, speedup_high=gain + 0.1, draft_passes=rank * 0.7, noisy_count=0
        )


@pytest.fixture
def measured(ended):
    ended.does(spread)
    return ended


def rows(page):
    return page.locator("[data-row]")


def test_an_axis_is_brushed_by_key_and_the_address_says_so(open_page, measured):
    page = open_page("/comparisons/")
    page.clock.install()
    page.goto(page.url.replace("/comparisons/", "/runs/"))
    expect(rows(page)).to_have_count(len(STRATEGIES))
    expect(page.locator("#pareto .run")).to_have_count(len(STRATEGIES))
    expect(page.locator("#pareto-sentence")).to_contain_text("On the line")
    low_end = page.get_by_role("slider", name="Speed-up at least")
    low_end.focus()
    page.clock.pause_at("2040-01-01")  # or a pause between two keys would be long enough to ask
    for _ in range(6):
        page.keyboard.press("PageUp")
    page.clock.resume()
    expect(page.locator("#parallel-sentence")).to_have_text("1 of 4 runs are within the ranges.")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"speedup_from=1\.\d+"))
    expect(page.get_by_role("slider", name="Speed-up at least")).to_be_focused()
    expect(page.locator("#parallel .line.out")).to_have_count(3)
    page.reload()
    expect(page.locator("#parallel .line.out")).to_have_count(3)
    page.get_by_role("slider", name="Speed-up at least").focus()
    page.keyboard.press("Escape")
    expect(rows(page)).to_have_count(len(STRATEGIES))
    page.go_back()
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#parallel .line.out")).to_have_count(3)


def test_an_axis_is_brushed_by_mouse(open_page, measured):
    page = open_page("/runs/")
    box = page.locator("#parallel .axis").filter(has_text="Speed-up").locator(".grip").bounding_box()
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, box["y"] + box["height"] * 0.45)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + box["height"] * 0.1, steps=4)
    page.mouse.move(middle, box["y"] - 20)
    page.mouse.up()
    expect(rows(page)).to_have_count(2)
    expect(page).to_have_url(re.compile("speedup_from="))


def test_columns_filters_and_views_by_keyboard(open_page, measured):
    page = open_page("/runs/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(rows(page).nth(1)).to_be_focused()
    page.select_option("select[name=strategy]", "static")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/runs/\?strategy=static(&column=\w+)*$"))
    page.click(".keep summary")
    page.get_by_label("Name of the view").fill("only static")
    page.keyboard.press("Enter")
    expect(page.locator(".view a")).to_have_text("only static")
    expect(rows(page)).to_have_count(1)
    page.goto(page.url.split("?")[0])
    page.get_by_role("link", name="Speed-up").click()
    expect(page).to_have_url(re.compile("ordering=speedup"))
    expect(rows(page).first).to_contain_text("autoregressive")
    page.click("text=only static")
    expect(rows(page)).to_have_count(1)
    page.wait_for_load_state()  # before that, keys go to nobody
    page.keyboard.press("v")
    page.get_by_label("Hardware", exact=True).check()
    expect(page.locator("table.runs thead")).to_contain_text("Hardware")


def test_chosen_runs_are_shown_side_by_side(open_page, measured):
    page = open_page("/runs/")
    for name in ("static:4", "heuristic:5"):
        page.get_by_role("checkbox", name=f"Choose {name} of ").check()
    page.click("text=Show the chosen side by side")
    expect(page.locator("h1")).to_have_text("2 runs side by side")
    expect(page.locator("table.numbers thead th")).to_have_count(3)
    assert grave_faults(page) == []


@pytest.mark.parametrize("width", [360, 2560])
def test_both_pages_fit_and_are_accessible(open_page, measured, width):
    for path in ("/runs/", f"/pairs/{measured.comparison.pair_id}/history/"):
        page = open_page(path, viewport={"width": width, "height": 900})
        expect(page.locator("table.numbers tbody tr").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        texts = page.locator(".chart text")
        assert (
            texts.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().right > innerWidth).length") == 0
        )
        assert grave_faults_of_both_themes(page) == []

"""A result to work with: the table in an order, the winner marked, prompts to browse, sections to jump to."""

from __future__ import annotations

import base64
import re

import pytest
from playwright.sync_api import expect

from tests.kit.browser import PIXELS
from tests.kit.race import path_of
from tests.webapp.browser.conftest import STRATEGIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LINES = "h => h.getBoundingClientRect().height / parseFloat(getComputedStyle(h).lineHeight)"


@pytest.fixture
def page(open_page, ended):
    page = open_page(path_of(ended), viewport={"width": 1280, "height": 900})
    expect(page.locator("#prompts tbody tr")).to_have_count(3)
    return page


def column(page, number: int) -> list[str]:
    return page.locator(f"table.numbers tbody tr > :nth-child({number})").all_inner_texts()


def speeds(page) -> list[float]:
    return [float(text.rstrip("×")) for text in column(page, 2)]


def test_the_table_begins_with_the_fastest_and_is_sorted_by_its_heads(page):
    assert speeds(page) == sorted(speeds(page), reverse=True)
    assert all(re.match(r"\d\d,\d{3}\.\d", speed) for speed in column(page, 6))
    expect(page.locator("#race [data-number=speed]").first).to_have_text(re.compile(r"^\d\d,\d{3}$"))
    head = page.locator("table.numbers thead th").nth(1)
    head.locator("button:not(.term)").click()
    head.locator("button:not(.term)").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert speeds(page) == sorted(speeds(page))
    page.locator("table.numbers thead th button:not(.term)").first.focus()
    page.keyboard.press("Enter")
    names = column(page, 1)
    assert names == sorted(names)


def test_prompts_are_filtered_and_sorted_and_lead_to_race_and_text(page):
    rows = page.locator("#prompts tbody tr")
    page.fill("#prompts [name=words]", "prompt 1")
    expect(rows).to_have_count(1)
    expect(page.locator("#prompts [role=status]")).to_have_text("1 of 3 prompts")
    page.fill("#prompts [name=words]", "")
    page.select_option("#prompts [name=only]", "differs")
    expect(rows).to_have_count(0)
    page.select_option("#prompts [name=only]", "")
    page.locator("#prompts thead [data-sort='2']").click()
    expect(page.locator("#prompts thead th[aria-sort='descending']")).to_have_text("static:4")
    rows.filter(has=page.locator("[data-open='2']")).locator("td [data-run='3']").click()
    expect(page.locator("#heat")).to_contain_text("Prompt 2 of 3")
    expect(page.locator("#text-of")).to_have_text("as heuristic:5 wrote it")
    assert re.search(r"strategy=heuristic%3A5&prompt=2", page.url)
    expect(page.locator("#race-title")).to_be_in_viewport()


def test_links_lead_to_sections_and_leave_the_address_to_what_is_looked_at(page):
    page.click("nav.sections >> text=Prompts")
    expect(page.locator("#prompts-title")).to_be_in_viewport()
    page.click("[data-lane='2']")
    before = page.url
    page.click("nav.sections >> text=Race")
    assert page.url == before and "strategy=static" in page.url


@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_links_to_sections_stay_in_view_and_cover_no_heading(open_page, worker, page, width):
    page = open_page(path_of(worker), viewport={"width": width, "height": 800})
    links = page.locator("nav.sections")
    expect(page.locator("#prompts-title")).to_be_attached()
    links.get_by_text("How it was made").click()
    expect(links).to_be_in_viewport(ratio=0.9)
    links.get_by_text("Prompts").click()
    expect(page.locator("#prompts-title")).to_be_in_viewport()
    bar, heading = links.bounding_box(), page.locator("#prompts-title").bounding_box()
    assert heading["y"] >= bar["y"] + bar["height"] or heading["x"] >= bar["x"] + bar["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_bound_is_explained_beside_its_row_and_a_comparison_leads_to_its_job(hire, open_page):
    worker = hire(*STRATEGIES[:2], "oracle:8")
    worker.claim()
    worker.finish_all()
    page = open_page(path_of(worker))
    row = page.locator("#verdict tbody tr", has_text="oracle:8")
    row.get_by_role("button", name="What is bound?").click()
    expect(row.locator("[popover]")).to_contain_text("never ranked")
    page.locator("#made-of").get_by_role("link", name="1 attempt").click()
    expect(page).to_have_url(re.compile(f"/jobs/{worker.comparison.job.pk}/"))


def test_a_table_that_is_wider_than_a_phone_scrolls_and_its_rules_go_on_under_its_first_column(open_page, worker, page):
    phone = open_page(path_of(worker), viewport={"width": 390, "height": 800})
    table = phone.locator("#verdict .scroll")
    assert table.evaluate("scroll => scroll.scrollWidth > scroll.clientWidth")
    assert table.evaluate("scroll => getComputedStyle(scroll).backgroundImage.match(/linear-gradient/g).length") == 4
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.locator("#verdict .scroll").evaluate("scroll => scroll.scrollTo({ left: 200, behavior: 'instant' })")
    head = phone.locator("#verdict table.numbers tbody th").nth(1)
    head.scroll_into_view_if_needed()
    box = head.bounding_box()
    strip = {"x": box["x"] + box["width"] - 8, "y": round(box["y"] + box["height"]) - 3, "width": 1, "height": 5}
    colours = phone.evaluate(PIXELS, base64.b64encode(phone.screenshot(clip=strip)).decode())
    assert len(set(colours)) == 2  # paper and rule


def test_the_marked_row_stands_in_line_and_the_verdict_has_two_lines_with_its_doubt_once(page):
    page.locator("#verdict table.numbers tbody tr").nth(1).evaluate("row => row.classList.add('winner')")
    lefts = page.locator("#verdict table.numbers :is(thead, tbody) tr > :first-child").evaluate_all(
        "cells => cells.map((cell) => parseFloat(getComputedStyle(cell).paddingLeft))"
    )
    assert lefts == [12] * 5
    assert round(page.locator("h1").evaluate(LINES)) <= 2
    long = (
        "No strategy is shown to be faster than autoregressive; disco:priced comes closest at 2.04 times (95 % interval"
    )
    long += " 0.57 to 9.39, 12 prompts). Its text is exactly the target's on all 12 samples."
    page.locator("h1").evaluate("(h, words) => { h.textContent = words }", long)
    assert round(page.locator("h1").evaluate(LINES)) == 2
    expect(page.locator("h1 + .doubt")).to_contain_text("Intervals for 3 speed-ups at once take at least 7 prompts")
    assert page.locator("main").inner_text().count("at once take at least") == 1

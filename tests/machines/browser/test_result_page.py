"""A result to work with: the table in an order, the winner marked, prompts to browse, sections to jump to."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit.race import path_of
from tests.machines.browser.conftest import STRATEGIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def column(page, number: int) -> list[str]:
    return page.locator(f"table.numbers tbody tr > :nth-child({number})").all_inner_texts()


def speeds(page) -> list[float]:
    return [float(text.rstrip("×")) for text in column(page, 2)]


def test_a_result_is_sorted_filtered_and_walked_through(open_page, ended):
    page = open_page(path_of(ended), viewport={"width": 1280, "height": 900})
    rows = page.locator("#prompts tbody tr")
    expect(rows).to_have_count(3)
    begins_with_the_fastest_and_is_sorted_by_its_heads(page)
    links_stay_in_view_and_leave_the_address_to_what_is_looked_at(page)

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


def begins_with_the_fastest_and_is_sorted_by_its_heads(page) -> None:
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


def links_stay_in_view_and_leave_the_address_to_what_is_looked_at(page) -> None:
    links, title = page.locator("nav.sections"), page.locator("#prompts-title")
    page.click("[data-lane='2']")
    before = page.url
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        links.get_by_text("How it was made").click()
        expect(links).to_be_in_viewport(ratio=0.9)
        links.get_by_text("Prompts").click()
        expect(title).to_be_in_viewport()
        bar, heading = links.bounding_box(), title.bounding_box()
        assert heading["y"] >= bar["y"] + bar["height"] or heading["x"] >= bar["x"] + bar["width"]  # it covers none
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.url == before and "strategy=static" in page.url


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

"""Runs of all comparisons in a real browser: filtered, sorted, and shown side by side."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from webapp.comparisons import figures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_runs_are_filtered_sorted_given_columns_and_shown_side_by_side(open_page, ended):
    ended.does(figures.sum_up_ended, seconds=60)
    page = open_page("/runs/")
    rows = page.locator("[data-row]")
    page.select_option("select[name=strategy]", "static")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/runs/\?strategy=static(&column=\w+)*$"))
    page.goto(page.url.split("?")[0])
    page.get_by_role("link", name="Speed-up").click()
    expect(page).to_have_url(re.compile("ordering=speedup"))
    page.click("details.more summary")
    page.get_by_label("Hardware", exact=True).check()
    expect(page.locator("table.runs thead")).to_contain_text("Hardware")
    for name in ("static:4", "heuristic:5"):
        page.get_by_role("checkbox", name=f"Choose {name} of ").check()
    page.click("text=Show the chosen side by side")
    expect(page.locator("h1")).to_have_text("2 runs side by side")

"""Runs of all comparisons in a real browser: filtered and sorted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from webapp.comparisons import figures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_runs_are_filtered_sorted_and_given_columns_by_keyboard(open_page, ended):
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

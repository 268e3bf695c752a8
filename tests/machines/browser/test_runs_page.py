"""Runs of all comparisons in a real browser: filtered and sorted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit.browser import grave_faults
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


def test_runs_are_filtered_sorted_and_given_columns_by_keyboard(open_page, measured):
    page = open_page("/runs/")
    page.select_option("select[name=strategy]", "static")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/runs/\?strategy=static(&column=\w+)*$"))
    page.goto(page.url.split("?")[0])
    page.get_by_role("link", name="Speed-up").click()
    expect(page).to_have_url(re.compile("ordering=speedup"))
    expect(rows(page).first).to_contain_text("autoregressive")
    page.click("details.more summary")
    page.get_by_label("Hardware", exact=True).check()
    expect(page.locator("table.runs thead")).to_contain_text("Hardware")
    assert grave_faults(page) == []

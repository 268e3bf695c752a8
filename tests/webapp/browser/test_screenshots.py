"""Pictures of the comparison page for people to look at: set DRAFTHOUSE_SHOTS to a folder and they are written there.
Without it the pages are opened all the same, and must fit their width."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.webapp.browser.lab import keep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDTHS = (360, 1280, 2560, 3840)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_finished_page_fits_every_width(open_page, worker, scheme):
    worker.claim()
    worker.finish_all()
    page = open_page(f"/comparisons/{worker.comparison.pk}/", color_scheme=scheme)
    page.locator("#what-if").scroll_into_view_if_needed()
    expect(page.locator("#what-said")).to_contain_text("Simulated")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for chart in ("#rounds", "#duet", "#curve", "#forest"):  # drawn anew for the width they now have
            box = page.locator(chart).bounding_box()
            expect(page.locator(chart)).to_have_attribute(
                "viewBox", f"0 0 {round(box['width'])} {round(box['height'])}"
            )
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        keep(page, f"comparison-finished-{scheme}-{width}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_running_page_fits_every_width(open_page, worker, scheme):
    worker.claim()
    worker.begin().finish()
    worker.begin().write(9)
    page = open_page(f"/comparisons/{worker.comparison.pk}/", color_scheme=scheme)
    expect(page.locator("#strip .token").first).to_be_attached()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        keep(page, f"comparison-running-{scheme}-{width}")

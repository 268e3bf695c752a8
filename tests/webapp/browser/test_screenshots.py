"""Pictures of the comparison page for people to look at: set DRAFTHOUSE_SHOTS to a folder and they are written there.
Without it the pages are opened all the same, and must fit their width."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit.browser import keep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDTHS = (360, 1280, 2560, 3840)


def test_the_finished_page_fits_every_width(open_page, worker):
    worker.claim()
    worker.finish_all()
    page = open_page(f"/comparisons/{worker.comparison.pk}/")
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
        keep_in_both_themes(page, f"comparison-finished-{width}")


def test_the_running_page_fits_every_width(open_page, worker):
    worker.claim()
    worker.begin().finish()
    worker.begin().write(9)
    page = open_page(f"/comparisons/{worker.comparison.pk}/")
    expect(page.locator("#strip .token").first).to_be_attached()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        keep_in_both_themes(page, f"comparison-running-{width}")


def keep_in_both_themes(page, name: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        keep(page, f"{name}-{scheme}")

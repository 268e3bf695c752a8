"""Pages on paper: nothing is cut, empty or out of scale."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from playwright.sync_api import expect

from tests.webapp import make
from tests.webapp.browser.test_comparison_page import mode, path_of
from webapp.studies.kinds import PLAN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAPER = {"width": 690, "height": 980}  # A4 without its margins


@pytest.fixture
def printed(open_page, worker):
    worker.claim()
    worker.finish_all()
    page = open_page(path_of(worker), viewport={"width": 1280, "height": 900})
    mode(page, "finished")
    expect(page.locator("#race .tokens").first).to_be_attached()
    page.emulate_media(media="print", color_scheme="dark")
    return page


def test_the_clock_of_a_printed_race_has_the_scale_of_its_lanes(printed):
    boxes = printed.locator("#race svg.track").evaluate_all("all => all.map((one) => one.getAttribute('viewBox'))")
    widths = {box.split()[2] for box in boxes}
    assert len(boxes) == 5 and len(widths) == 1


def test_keys_of_charts_and_marks_of_tokens_are_printed(printed):
    assert printed.locator(".key.kept").first.evaluate("key => getComputedStyle(key).printColorAdjust") == "exact"
    style = printed.locator(".token.accepted").first.evaluate(
        "token => [getComputedStyle(token).boxShadow, getComputedStyle(token).borderBottomWidth]"
    )
    assert style == ["none", "2px"]


def test_links_to_files_and_folded_parts_are_not_printed(printed):
    for part in ("#downloads", ".of-runs:not([open])", "nav", ".term"):
        expect(printed.locator(part).first).to_be_hidden()


@pytest.mark.parametrize("path", ["/comparisons/new/", "/datasets/new/", "/endpoints/new/", "/account/"])
def test_a_printed_form_shows_its_fields_and_no_buttons(open_page, worker, path):
    page = open_page(path, viewport=PAPER)
    page.emulate_media(media="print")
    expect(page.locator("main :is(input, select):visible").first).to_be_visible()
    expect(page.locator("main button:visible")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]


def test_a_printed_list_has_neither_filters_nor_checkboxes(open_page, worker):
    page = open_page("/comparisons/", viewport=PAPER)
    page.emulate_media(media="print")
    expect(page.locator("main tbody tr")).to_have_count(1)
    expect(page.locator("main :is(input, select, button):visible")).to_have_count(0)
    expect(page.locator("main a[href*='bin=1']")).to_be_hidden()


def test_a_plan_has_no_line_beside_its_whole_page(open_page, transactional_db, world):
    by = world.actor(world.bob)
    with ThreadPoolExecutor(1) as pool:  # Django must not meet Playwright's loop
        study = pool.submit(lambda: make.study(by, PLAN, pair=make.pair(by), dataset=make.dataset(by))).result()
        pool.submit(connections.close_all).result()
    page = open_page(f"/studies/{study.pk}/")
    assert page.locator("article.plan").evaluate("page => getComputedStyle(page).borderLeftWidth") == "0px"

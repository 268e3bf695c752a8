"""Pages on paper: nothing is cut, empty or out of scale."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import mode
from tests.kit.race import path_of
from webapp.comparisons import figures
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PAPERS, PLAN
from webapp.studies.models import Classifier

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAPER = {"width": 690, "height": 980}  # A4 without its margins
DRAWINGS = "svg:is(.chart, .track)"
NOTE = f"""addEventListener('beforeprint', () => {{
    window.printed = [...document.querySelectorAll("{DRAWINGS}")].map((one) => one.viewBox.baseVal?.width);
}})"""  # the page's own listeners came before
DRAWN = "() => [...document.querySelectorAll('[data-charts]')].every((place) => place.children.length)"
SHOWN = "all => all.map((one) => one.checkVisibility() ? one.getBoundingClientRect().width : 0)"
SIDES = "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
WIDE = {"width": 2560, "height": 900}
SMALLEST_PT, LETTER_PT = 7, 12 * 72 / 96


def letters(page) -> list[float]:
    """Print the page, and return how large the letters of its charts are on paper, in points."""
    page.evaluate(NOTE)
    page.pdf()
    drawn = page.evaluate("window.printed")
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    shown = page.locator(DRAWINGS).evaluate_all(SHOWN)
    return [LETTER_PT * width / of for width, of in zip(shown, drawn, strict=True) if width]


def test_a_printed_comparison_is_readable_and_keeps_its_scale_keys_and_marks_and_no_links(open_page, ended):
    printed = open_page(path_of(ended), viewport=WIDE)
    mode(printed, "finished")
    printed.locator("#what-if").scroll_into_view_if_needed()
    expect(printed.locator("#curve path").first).to_be_attached()
    assert min(letters(printed)) >= SMALLEST_PT
    printed.emulate_media(media="print", color_scheme="dark")
    boxes = printed.locator("#race svg.track").evaluate_all("all => all.map((one) => one.getAttribute('viewBox'))")
    widths = {box.split()[2] for box in boxes}
    assert len(boxes) == 5 and len(widths) == 1
    assert printed.locator(".key.kept").first.evaluate("key => getComputedStyle(key).printColorAdjust") == "exact"
    style = printed.locator(".token.accepted").first.evaluate(
        "token => [getComputedStyle(token).boxShadow, getComputedStyle(token).borderBottomWidth]"
    )
    assert style == ["none", "2px"]
    for part in ("#downloads", ".of-runs:not([open])", "nav", ".term"):
        expect(printed.locator(part).first).to_be_hidden()
    expect(printed.locator("a[download]:visible")).to_have_count(0)


def test_a_printed_form_shows_its_fields_and_no_buttons_and_a_list_neither_filters_nor_checkboxes(open_page, worker):
    page = open_page("/comparisons/", viewport=PAPER)
    page.emulate_media(media="print")
    expect(page.locator("main tbody tr")).to_have_count(1)
    expect(page.locator("main :is(input, select, button):visible")).to_have_count(0)
    expect(page.locator("main a[href*='bin=1']")).to_be_hidden()
    assert page.locator("td.num + td").first.evaluate("cell => getComputedStyle(cell).paddingLeft") == "8px"
    for path in ("/comparisons/new/", "/datasets/new/", "/account/"):
        page.goto(re.sub(r"(?<=\d)/.*", path, page.url))
        expect(page.locator("main :is(input, select):visible").first).to_be_visible()
        expect(page.locator("main button:visible")).to_have_count(0)
        expect(page.locator("main details:not([open]):visible")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]


def test_a_printed_comparison_under_load_is_readable_and_its_labels_lie_on_the_paper(open_page, hire):
    worker = hire("autoregressive", "static:4", concurrency=[1, 16])
    worker.claim()
    worker.finish_all()
    page = open_page(path_of(worker), viewport=WIDE)
    mode(page, "finished")
    expect(page.locator("#load-front text").first).to_be_attached()
    assert min(letters(page)) >= SMALLEST_PT
    labels = page.locator("svg.chart text:visible").evaluate_all(SIDES)
    assert min(left for left, _ in labels) >= 0 and max(right for _, right in labels) <= PAPER["width"]


def test_charts_of_studies_and_classifiers_are_readable_on_paper(open_page, worker, world):
    def made() -> list[str]:
        by = world.actor(world.bob)
        figures.sum_up_ended(seconds=60)
        of = {"pair": worker.comparison.pair, "dataset": worker.comparison.dataset}
        studies = [make.study(by, kind, **of) for kind in (ORACLE, PLAN, PAPERS)]
        classifying.finish_training(job=make.training(by, **of).job, files=list(make.card().items()))
        return [f"/studies/{one.pk}/" for one in studies] + [f"/classifiers/{Classifier.objects.get().pk}/"]

    worker.claim()
    worker.finish_all()
    for path in worker.does(made):
        page = open_page(path, viewport=WIDE)
        page.wait_for_function(DRAWN)
        assert min(letters(page)) >= SMALLEST_PT, path

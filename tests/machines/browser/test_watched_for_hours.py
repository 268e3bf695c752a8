"""Economy of a page that is watched for hours: elements stay, and what is not on the screen is drawn seldom."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit.browser import mode
from tests.kit.race import choose, path_of, shows, tokens
from tests.machines.browser.conftest import STRATEGIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CHARTED = "#forest .prompts, #forest .interval, #positions .line, #waterfall .bar, #histogram .bar"


def test_more_samples_change_the_charts_elements_instead_of_making_them_anew(open_page, worker):
    worker.claim()
    for _ in STRATEGIES:
        worker.begin().finish()
    page = open_page(path_of(worker))
    dots = page.locator("#forest .prompts")
    expect(dots).to_have_count(len(STRATEGIES) - 1)
    assert dots.evaluate_all("all => all.map((each) => each.getAttribute('d').split('L').length)") == [1] * dots.count()
    expect(page.locator("#waterfall .bar").first).to_be_attached()
    expect(page.locator("#lines .line").first).to_be_attached()  # above it nothing moves any more
    page.click("[data-twin='forest'] summary")
    expect(page.locator("[data-twin='forest'] tbody tr")).to_have_count(1)
    page.evaluate(f"window.were = [...document.querySelectorAll(`{CHARTED}, [data-twin='forest'] tr`)]")

    for _ in STRATEGIES:
        worker.begin().finish()
    expect(page.locator("[data-twin='forest'] tbody tr")).to_have_count(2)
    assert dots.evaluate_all("all => all.map((each) => each.getAttribute('d').split('L').length)") == [2] * dots.count()
    assert page.evaluate("were.length > 10 && were.every((each) => each.isConnected)")


def test_an_element_becomes_what_is_wanted_whatever_it_was(open_page):
    page = open_page("/comparisons/")
    page.evaluate("""async () => {
        const { become, sketch } = await import("/static/js/core/become.js");
        const place = document.createElement("p");
        window.becomes = (wanted) => (become(place, ...wanted(sketch)), place.innerHTML);
    }""")
    for wanted, written in (
        ('(s) => ["one ", s("b", { class: "x", title: null }, "two"), null]', 'one <b class="x">two</b>'),
        ('(s) => [s("b", { title: "y" }, s("i", {}, "three"), "four")]', '<b title="y"><i>three</i>four</b>'),
        ('(s) => [s("b", { title: "y" }, "four"), [s("u"), s("u")]]', '<b title="y">four</b><u></u><u></u>'),
        ('(s) => [s("u"), "five"]', "<u></u>five"),
        ("(s) => []", ""),
    ):
        assert page.evaluate(f"becomes({wanted})") == written


@pytest.mark.parametrize("looks", ["scrolls there", "prints"])
def test_what_is_not_on_the_screen_waits_and_is_right_when_somebody_looks(open_page, worker, looks):
    worker.claim()
    sample = worker.begin()
    sample.write(6)
    page = open_page("/comparisons/", viewport={"width": 1280, "height": 300})
    page.clock.install()
    page.goto(page.url.replace("/comparisons/", path_of(worker)))
    mode(page, "live")
    choose(page, 1)
    expect(tokens(page)).to_have_count(5)
    page.evaluate("scrollTo(0, 0)")  # the text is below the screen
    page.clock.pause_at("2040-01-01")
    sample.write(12)
    passes(page, 4, lambda: tokens(page).count() == 11)
    sample.finish()
    told = page.locator("[data-lane='1'] [data-number=tokens]")
    passes(page, 1, lambda: told.inner_text() == str(len(sample.tokens)))
    assert tokens(page).count() == 11
    if looks == "prints":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    else:
        page.locator("#strip").scroll_into_view_if_needed()
    shows(page, sample.tokens)


def passes(page, seconds: int, until) -> None:
    """Time, on the page's clock, and no more than this."""
    for _ in range(100 * seconds):
        page.clock.run_for(10)
        if until():
            return
        page.wait_for_timeout(20)  # for what comes from the server
    raise AssertionError(f"not in {seconds} s")

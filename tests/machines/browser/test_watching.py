"""A comparison's page in a real browser while it runs, from the queue to the verdict."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit.browser import choose, mode, path_of, shows, tokens
from tests.machines.browser.conftest import STRATEGIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.smoke
def test_rounds_arrive_and_neither_a_reload_nor_a_late_tab_misses_any(open_page, worker):
    page = open_page(path_of(worker))
    mode(page, "live")
    expect(page.locator("#reason")).to_contain_text("No worker listens on cpu; start one with ./drafthouse up.")
    worker.claim()
    first = worker.begin()
    first.write(8)
    choose(page, 1)
    expect(tokens(page)).to_have_count(7)
    expect(page.locator("#reason")).to_have_text("")
    so_far = tokens(page).all_inner_texts()
    page.reload()
    choose(page, 1)
    expect(tokens(page)).to_have_text(so_far)
    first.finish()
    shows(page, first.tokens)

    second = worker.begin()
    second.write(6)
    late = open_page(path_of(worker))
    second.finish()
    for tab in (page, late):
        choose(tab, 2)
        shows(tab, second.tokens)
    worker.finish_all()
    for tab in (page, late):
        is_whole(tab)


def is_whole(tab) -> None:
    mode(tab, "finished")
    expect(tab.locator("h1")).to_contain_text("nobody can say yet which is fastest")
    expect(tab.locator(".way")).to_be_hidden()
    expect(tab.locator("#what-if")).to_be_attached()
    names = [text.split()[0] for text in tab.locator("table.numbers tbody th").all_inner_texts()]
    told = dict(zip(names, tab.locator("table.numbers tbody td.strong").all_inner_texts(), strict=True))
    standing = tab.locator("[data-lane] [data-number=standing]")
    expect(standing).to_have_text([told[name] for name in STRATEGIES])  # and lanes say it live
    expect(tab.locator("#downloads")).to_contain_text("this page as one file")


HELD = """() => {
    window.frame = requestAnimationFrame;
    window.held = [];
    window.requestAnimationFrame = (call) => held.push(call);
}"""
FREED = "() => { window.requestAnimationFrame = frame; held.forEach((call) => frame(call)); }"


def test_where_sockets_are_blocked_or_the_tab_is_in_the_background_nothing_is_missed(open_page, worker):
    worker.claim()
    first = worker.begin()
    first.write(8)
    polling, unseen = open_page("/comparisons/"), open_page(path_of(worker))
    polling.route_web_socket(re.compile("/ws/"), lambda line: line.close(code=1011))
    polling.goto(polling.url.replace("/comparisons/", path_of(worker)))
    mode(polling, "polling")
    choose(unseen, 1)
    expect(tokens(unseen)).to_have_count(7)
    unseen.evaluate(HELD)  # as Chromium does where nobody looks
    first.finish()
    choose(polling, 1)
    shows(polling, first.tokens)
    worker.finish_all()
    unseen.wait_for_function("() => document.title.startsWith('✓ ')", polling=50)
    expect(tokens(unseen)).to_have_count(7)  # as it was left
    unseen.evaluate(FREED)
    for tab in (polling, unseen):
        is_whole(tab)
    shows(unseen, first.tokens)


CHARTED = "#forest .prompts, #positions .line, #waterfall .bar, #histogram .bar, [data-twin='forest'] tr"
COUNTS = "all => all.map((each) => each.getAttribute('d').split('L').length)"


def test_what_comes_changes_the_elements_that_are_there_and_leaves_whole_lines_alone(open_page, worker):
    worker.claim()
    sample = worker.begin()
    sample.words[9] = "\n"  # of the first sixteen tokens the eleventh, twelfth and fourteenth
    sample.write(12)
    page = open_page(path_of(worker))
    choose(page, 1)
    expect(tokens(page)).to_have_count(11)
    page.evaluate("""() => {
        window.touched = new Set();
        new MutationObserver((changes) => changes.forEach(({ target }) => touched.add(target))).observe(
            document.querySelector("#strip"), { childList: true, characterData: true, subtree: true });
        window.whole = document.querySelector("#strip .passage");
    }""")
    sample.write(17)
    expect(tokens(page)).to_have_count(16)
    assert page.evaluate("touched.size > 0 && ![...touched].some((each) => whole.contains(each))")
    sample.finish()
    expect(tokens(page)).to_have_count(len(sample.tokens))
    said = "".join("⏎\n" if token == 9 else f" w{token}" for token in sample.tokens)
    copied = page.evaluate("getSelection().selectAllChildren(document.querySelector('#strip')), `${getSelection()}`")
    assert copied.endswith(said)

    dots = page.locator("#forest .prompts")
    for heat in (1, 2):
        while len(worker.left) > len(STRATEGIES) * (3 - heat):
            worker.begin().finish()
        page.wait_for_function(
            f"() => ({COUNTS})([...document.querySelectorAll('#forest .prompts')]).every((n) => n === {heat})"
        )
        expect(dots).to_have_count(len(STRATEGIES) - 1)
        if heat == 1:
            page.click("[data-twin='forest'] summary")
            page.evaluate(f"window.were = [...document.querySelectorAll(`{CHARTED}`)]")
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
        ('(s) => [s("u"), "five"]', "<u></u>five"),
    ):
        assert page.evaluate(f"becomes({wanted})") == written

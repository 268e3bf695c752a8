"""A comparison's page in a real browser while it runs, from the queue to the verdict; under load with requests side by
side."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit.browser import choose, grave_faults, mode, path_of, shows, tokens
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


def lane(page, run: int, what: str):
    return page.locator(f"[data-lane='{run}'] [data-number='{what}']")


def test_texts_that_are_written_side_by_side_miss_nothing_and_any_is_shown_on_a_click(open_page, hire):
    worker = hire("autoregressive", "static:4", concurrency=[3])
    page = open_page(path_of(worker))
    mode(page, "live")
    worker.claim()
    together = worker.begin_together("static:4 @3")
    for upto in (3, 6, 9):
        for sample in together:
            sample.write(upto)
    for what in ("running", "begun"):
        expect(lane(page, 2, what)).to_have_text("3")
    expect(page.locator("#text-of")).to_have_text("as static:4 @3 wrote it")
    for sample in reversed(together):
        sample.finish()
    expect(lane(page, 2, "running")).to_have_text("0")
    for number in (1, 3):  # one bar above the other
        bars = page.locator("[data-lane='2'] .track")
        bars.click(position={"x": 40, "y": bars.bounding_box()["height"] * (number - 0.5) / 3})
        expect(page.locator("#heat")).to_contain_text(f"Prompt {number} of 3")
        shows(page, together[number - 1].tokens)
    page.reload()
    expect(page.locator("#heat")).to_contain_text("Prompt 3 of 3")


def test_requests_under_load_are_replayed_and_results_are_read_at_each_load(open_page, hire):
    worker = hire("autoregressive", "static:4", concurrency=[1, 4], rate=[2], slo="ttft=500ms")
    worker.claim()
    worker.finish_all()
    page = open_page(path_of(worker) + "#strategy=static:4+@4&prompt=1", viewport={"width": 390, "height": 800})
    mode(page, "finished")
    is_replayed_and_any_text_is_read_at_that_moment(page)
    expect(page.locator("#forest-title")).to_contain_text("over autoregressive @4")
    expect(page.locator("tr.load").nth(1)).to_contain_text("4 at once")
    for chart in ("load-front", "load-speedup", "load-latency"):
        section = page.locator(f"section:has(> #{chart})")
        expect(section.locator(".sentence")).not_to_be_empty()
        section.locator("summary").click()
        expect(section.locator("tbody tr").first).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    assert grave_faults(page) == []
    page.select_option("#baseline", label="static:4")
    expect(page.locator("tr.pinned")).to_have_count(3)


def is_replayed_and_any_text_is_read_at_that_moment(page) -> None:
    expect(page.locator("#text-of")).to_have_text("as static:4 @4 wrote it")
    expect(page.locator("#strip .round")).not_to_have_count(0)
    whole, bars = page.locator("#strip .round").count(), page.locator("[data-lane='4'] .track .over")
    drawn = bars.get_attribute("d")
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(page.locator("#strip .round")).to_have_count(0)
    expect(bars).to_have_attribute("d", "")
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Replay")  # it ends by itself
    expect(page.locator("#strip .round")).to_have_count(whole)
    expect(bars).to_have_attribute("d", drawn)
    page.focus("#scrub")
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("PageUp")
    moment = page.input_value("#scrub")
    page.locator("[data-lane='3'] .track").click(position={"x": 5, "y": 3})
    expect(page.locator("#text-of")).to_have_text("as autoregressive @4 wrote it")
    expect(page.locator("#scrub")).to_have_value(moment)  # the replay stays where it was

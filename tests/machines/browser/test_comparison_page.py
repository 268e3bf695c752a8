"""A comparison's page in a real browser, from the queue to the verdict."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.golden.record import FOLDER, name_of
from tests.kit.browser import grave_faults_of_both_themes, mode
from tests.kit.race import choose, path_of, shows, tokens
from tests.machines.browser.conftest import EXPECTED, STRATEGIES
from webapp.comparisons import trace
from webapp.jobs import services as jobs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.smoke
def test_rounds_arrive_and_neither_a_reload_nor_a_late_tab_misses_any(open_page, worker):
    page = open_page(path_of(worker))
    mode(page, "live")
    reason = page.locator("#reason")
    expect(reason).to_contain_text("No worker listens on cpu; start one with ./drafthouse up.")
    worker.claim()
    expect(reason).to_contain_text("loads the models")

    first = worker.begin()
    first.write(8)
    choose(page, 1)
    expect(tokens(page)).to_have_count(7)
    expect(reason).to_have_text("")
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
    expect(page.locator("#downloads")).not_to_contain_text("this page as one file")

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
    expect(tab.locator(".of-standing")).not_to_contain_text("so far", use_inner_text=True)


PLACES = """all => {
    const from = all[0].getBoundingClientRect();
    const place = ({ x, y, width }) => [x - from.x, y - from.y, width].map(Math.round);
    return all.map((each) => [...each.getClientRects()].map(place));
}"""


def test_lines_that_are_whole_stay_as_they_are_while_the_text_goes_on(open_page, worker):
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
    assert page.evaluate("whole === document.querySelector('#strip .passage')")
    sample.finish()
    expect(tokens(page)).to_have_count(len(sample.tokens))

    said = "".join("⏎\n" if token == 9 else f" w{token}" for token in sample.tokens)
    assert page.evaluate(
        "getSelection().selectAllChildren(document.querySelector('#strip')), `${getSelection()}`"
    ).endswith(said)
    in_blocks = tokens(page).evaluate_all(PLACES)
    page.evaluate("""() => {
        const paragraph = new CSSStyleSheet();
        paragraph.replaceSync(".strip .passage { display: inline; contain: none }");
        document.adoptedStyleSheets = [paragraph];
    }""")
    assert tokens(page).evaluate_all(PLACES) == in_blocks  # as one paragraph would have it

    page.focus("#strip .round[tabindex='0']")
    for key, number in (("End", len(sample.tokens)), ("Home", 1), ("ArrowRight", 2)):
        page.keyboard.press(key)
        expect(page.locator(f"#strip .round[data-round='{number}']")).to_be_focused()


def test_a_draft_that_no_model_made_is_told_without_the_models_confidence(open_page, worker):
    """After a miss of SSD an n-gram may draft, which holds no token likely or unlikely."""
    worker.claim()
    worker.begin().finish()
    sample = worker.begin()
    for event in sample.events:
        if event["event"] == "drafted":
            event |= {"confidence": [], "estimate": [], "source": "miss", "backup": "ngram"}
    sample.finish()
    page = open_page(path_of(worker))
    choose(page, 2)
    shows(page, sample.tokens)
    page.locator("#strip .round").first.click()
    expect(page.locator("#detail p")).to_contain_text("accepted")
    expect(page.locator("#detail li")).to_have_count(5)
    expect(page.locator("#detail meter")).to_have_count(0)


def slower(events, times):
    """The same, with every clock going slower."""
    for event in events:
        event |= {name: times * value for name, value in event.items() if name.endswith("_ns")}


LENGTHS = """all => all.map((lane) => {
    const track = lane.querySelector(".track").getBoundingClientRect();
    return lane.querySelector(".tokens").getBoundingClientRect().width / track.width;
})"""


def test_a_peer_that_takes_far_longer_runs_out_of_the_picture_so_that_the_others_can_be_read(open_page, hire):
    worker = hire("autoregressive", "static:4", "assisted:4")
    worker.claim()
    for _ in range(2):
        worker.begin().finish()
    peer = worker.begin()
    slower(peer.events, 30)
    peer.finish()
    page = open_page(path_of(worker))
    expect(page.locator("[data-cut]")).to_be_visible()
    alone, ours, theirs = page.locator("[data-lane]").evaluate_all(LENGTHS)
    assert 0.4 < alone < ours < theirs < 1
    expect(page.locator("[data-lane='3'] .goes-on")).to_have_attribute("d", re.compile("M"))
    expect(page.locator("[data-lane='2'] .goes-on")).to_have_attribute("d", "")
    expect(page.locator("[data-lane='3'] [data-number=time]")).to_contain_text("ms")
    page.select_option("#baseline", "assisted:4")
    page.wait_for_url(re.compile("baseline=assisted"))
    expect(page.locator("[data-lane='3'] .finish")).to_have_attribute("d", re.compile("M"))  # what all is relative to
    expect(page.locator("[data-cut]")).to_be_hidden()


def test_where_sockets_are_blocked_the_page_polls_and_misses_nothing(open_page, worker):
    worker.claim()
    page = open_page("/comparisons/")
    page.route_web_socket(re.compile("/ws/"), lambda line: line.close(code=1011))
    first = worker.begin()
    first.write(5)
    page.goto(page.url.replace("/comparisons/", path_of(worker)))
    mode(page, "polling")
    first.finish()
    choose(page, 1)
    shows(page, first.tokens)
    worker.finish_all()
    mode(page, "finished")


def test_another_baseline_is_pinned_by_keyboard_and_stays_while_samples_come_in(open_page, worker):
    worker.claim()
    for _ in STRATEGIES:
        worker.begin().finish()
    page = open_page(path_of(worker))
    expect(page.locator("#race + .legend")).to_contain_text("autoregressive's time")
    choose(page, 4)
    page.keyboard.press("b")
    page.keyboard.press("ArrowDown")  # from autoregressive to static:4
    page.wait_for_url(re.compile(r"\?baseline=static%3A4#"))  # what was looked at stays in the address too
    expect(page.locator("table.numbers .pinned th")).to_contain_text("static:4")
    expect(page.locator("h1")).to_contain_text("static:4's speed")
    expect(page.locator("[data-lane='2'] [data-number=gain]")).to_have_text("1.00×")
    expect(page.locator("#race + .legend")).to_contain_text("static:4's time")
    expect(page.locator("#forest .name")).to_have_text(["autoregressive", "heuristic:5", "threshold:0.4"])
    worker.finish_all()
    mode(page, "finished")
    expect(page.locator("h1")).to_contain_text("On 3 prompts")
    expect(page.locator("table.numbers .pinned th")).to_contain_text("static:4")
    expect(page.locator("#what-title")).to_contain_text("relative to autoregressive")


def test_a_finished_race_is_replayed_scrubbed_and_read_by_keyboard_alone(open_page, ended):
    page = open_page(path_of(ended))
    expect(page.locator("#replay")).to_be_visible()
    whole = tokens(page).all_inner_texts()
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(tokens(page)).to_have_count(0)
    page.keyboard.press("End")
    expect(tokens(page)).to_have_text(whole)
    page.keyboard.press("Home")
    page.focus("#play")
    page.keyboard.press("Enter")
    expect(tokens(page)).to_have_text(whole)
    expect(page.locator("#play")).to_have_text("Replay")

    obeys_keys_before_its_charts_have_come(page)
    page.reload()
    expect(page.locator("#heat")).to_contain_text("Prompt 2 of 3")
    expect(tokens(page).last).to_be_attached()
    page.focus("#strip .round[tabindex='0']")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#strip .round.open")).to_be_focused()
    expect(page.locator("#detail p")).to_contain_text("accepted")
    while not page.locator("#detail .unseen").count():  # what nobody judged is said quietly, and can be read
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#strip .round.open")).to_be_focused()
    assert grave_faults_of_both_themes(page) == []


def obeys_keys_before_its_charts_have_come(page) -> None:
    charts, held = re.compile("/js/charts/"), []
    page.route(charts, lambda route: held.append(route))
    page.reload()
    while not held:  # the charts wait for us
        page.evaluate("0")
    page.keyboard.press("[")
    page.keyboard.press("2")
    page.route(charts, lambda route: route.continue_())  # those that these import
    for route in held:
        route.continue_()
    expect(page.locator("#heat")).to_contain_text("Prompt 2 of 3")
    expect(page.locator("#text-of")).to_have_text("as static:4 wrote it")
    expect(tokens(page).last).to_be_attached()


def test_every_chart_has_its_table_and_two_texts_stand_side_by_side_and_are_replayed_in_step(open_page, ended):
    page = open_page(path_of(ended) + "#strategy=static:4")
    expect(page.locator("#text-of")).to_have_text("as static:4 wrote it")
    drawn, rows = page.locator("#rounds [data-round]"), page.locator("[data-twin='rounds'] tbody tr")
    expect(drawn.first).to_be_attached()
    page.click("[data-twin='rounds'] summary")
    expect(rows).to_have_count(drawn.count())
    expect(page.locator("[data-twin='rounds'] thead")).to_contain_text("oracle")
    page.click("[data-twin='lines'] summary")
    expect(page.locator("[data-twin='lines'] thead th")).to_have_text(["milliseconds", *STRATEGIES])
    last = page.locator("[data-twin='lines'] tbody tr").last.locator("td").all_inner_texts()
    assert last == [str(len(EXPECTED[name_of(label)]["tokens"])) for label in STRATEGIES]

    by_category = page.locator("#categories tbody tr")
    expect(by_category).to_have_count(len(STRATEGIES) - 1)
    expect(by_category.first.locator("th")).to_have_text(STRATEGIES[1])
    mark = by_category.first.locator("svg use").bounding_box()
    assert mark["width"] > 5 and mark["height"] > 5
    legend = page.locator("section:has(#positions) .legend .entry")
    expect(legend).to_have_text(STRATEGIES[1:])  # the baseline drafts nothing

    page.select_option("#beside", label="heuristic:5")
    expect(page.locator("#differs")).to_have_text("The words are the same.")
    for label, text in (("static:4", "#strip"), ("heuristic:5", "#side.s-heuristic")):
        events = [json.loads(each) for each in (FOLDER / f"{name_of(label)}.jsonl").read_text().splitlines()]
        expect(page.locator(f"{text} .round")).to_have_count(sum(event["event"] == "verified" for event in events))
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(rows).to_have_count(0)
    expect(page.locator("#side .round")).to_have_count(0)


def test_cancelling_stays_on_the_page_and_says_what_there_is(open_page, worker):
    worker.claim()
    for _ in STRATEGIES:
        worker.begin().finish()
    page = open_page(path_of(worker))
    mode(page, "live")
    with page.expect_response(re.compile("/cancel/")):
        page.click("text=Cancel")
    worker.does(jobs.stop, job=worker.job)
    worker.does(trace.nudge, worker.comparison.pk)
    mode(page, "finished")
    expect(page.locator("#mode")).to_have_text("Cancelled")
    expect(page.locator("#verdict .note")).to_have_text(
        "Cancelled while it ran. 4 of 12 samples finished and are here. Unfinished ones are not kept."
    )


def test_what_if_is_asked_by_slider_curve_and_for_several_users_and_run(open_page, ended):
    page = open_page(path_of(ended))
    section, said = page.locator("#what-if"), page.locator("#what-said")
    section.scroll_into_view_if_needed()
    expect(said).to_contain_text("Simulated: static:4 would be")
    says_nothing_of_another_strategy_while_the_answer_is_on_its_way(page, said)
    page.select_option("#what-if [name=strategy]", "static")
    expect(said).to_contain_text("Simulated: static:5 would be")
    is_asked_by_its_curve(page, said)

    page.focus("#what-if [name=users]")
    for users in (2, 3):
        page.keyboard.press("ArrowRight")
        expect(said).to_contain_text(re.compile(rf"Simulated: static:1\d @{users} would be"))
    expect(said).to_contain_text("with 3 users at once")
    expect(page.locator("#what-notes")).to_contain_text("Nothing here ran with 3 users.")
    section.locator("summary", has_text="as a table").click()
    expect(section.locator("[data-twin='what-if'] tbody tr")).to_have_count(20)  # each asked for by itself
    page.reload()
    section.scroll_into_view_if_needed()
    expect(said).to_contain_text(re.compile(r"Simulated: static:1\d @3 would be"))
    page.click("#what-run")
    expect(page.locator("h1")).to_have_text("New comparison")
    expect(page.locator("[name=concurrency]")).to_have_value("3")
    expect(page.locator("[name='static.lookahead']")).to_have_value(re.compile(r"1\d"))


def says_nothing_of_another_strategy_while_the_answer_is_on_its_way(page, said) -> None:
    held, curve = [], page.locator("#curve")
    page.route(re.compile("strategy="), lambda route: held.append(route))
    with page.expect_request(re.compile("lookahead=5")):
        page.locator("[data-knobs=static] [name=lookahead]").press("ArrowRight")
    expect(said).to_contain_text("Simulated: static:4 would be")  # its answer stays until the next one
    expect(curve).to_be_visible()
    with page.expect_request(re.compile("strategy=threshold")):
        page.select_option("#what-if [name=strategy]", "threshold")
    expect(said).to_have_text("")
    expect(curve).not_to_be_visible()
    held[-1].continue_()
    page.unroute(re.compile("strategy="))
    expect(said).to_contain_text("Simulated: threshold:0.4 would be")


def is_asked_by_its_curve(page, said) -> None:
    curve = page.locator("#curve")
    curve.focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    expect(curve.locator(".cursor text").first).to_have_text("lookahead 2")
    expect(curve.locator(".cursor text").nth(1)).to_contain_text("simulated ")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Simulated: static:2 would be")
    box = curve.bounding_box()
    curve.click(position={"x": box["width"] / 2, "y": box["height"] - 60})  # far below the line, in its column
    expect(said).to_contain_text(re.compile(r"Simulated: static:1\d would be"))

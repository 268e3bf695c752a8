"""A finished comparison in a real browser: read, replayed, asked and printed, found among the runs of all, and drawn on
by a chart of one's own."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings as configured
from playwright.sync_api import expect

from tests.kit.browser import PIXELS, grave_faults_of_both_themes, path_of, tokens
from tests.kit.processes import until
from tests.machines.browser.conftest import STRATEGIES
from webapp.comparisons import figures

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SPEED_UP = ".term[aria-label='What is speed-up?']"


def test_a_finished_race_is_replayed_scrubbed_and_read_by_keyboard_alone(open_page, ended):
    page = open_page(path_of(ended))
    expect(page.locator("#replay")).to_be_visible()
    whole = tokens(page).all_inner_texts()
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(tokens(page)).to_have_count(0)
    page.focus("#play")
    page.keyboard.press("Enter")
    expect(tokens(page)).to_have_text(whole)
    expect(page.locator("#play")).to_have_text("Replay")
    obeys_keys_before_its_charts_have_come(page)

    page.focus("#strip .round[tabindex='0']")
    page.keyboard.press("End")
    while not page.locator("#detail .unseen").count():  # what nobody judged is said quietly, and can be read
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#strip .round.open")).to_be_focused()
    assert grave_faults_of_both_themes(page) == []

    page.focus(SPEED_UP)
    page.keyboard.press("Enter")
    sentence = page.locator(f"#{page.locator(SPEED_UP).get_attribute('popovertarget')}")
    mark, box = page.locator(SPEED_UP).bounding_box(), sentence.bounding_box()
    assert 0 <= box["y"] - (mark["y"] + mark["height"]) < 16 and abs(box["x"] - mark["x"]) < 32
    page.keyboard.press("Escape")
    expect(sentence).to_be_hidden()

    page.keyboard.press("b")
    page.keyboard.press("ArrowDown")  # from autoregressive to static:4
    page.wait_for_url(re.compile(r"\?baseline=static%3A4#"))  # what was looked at stays in the address too
    expect(page.locator("table.numbers .pinned th")).to_contain_text("static:4")
    expect(page.locator("[data-lane='2'] [data-number=gain]")).to_have_text("1.00×")
    expect(page.locator("#forest .name")).to_have_text(["autoregressive", "heuristic:5", "threshold:0.4"])


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


def column(page, number: int) -> list[str]:
    return page.locator(f"table.numbers tbody tr > :nth-child({number})").all_inner_texts()


def speeds(page) -> list[float]:
    return [float(text.rstrip("×")) for text in column(page, 2)]


def test_a_result_is_sorted_filtered_walked_through_and_printed(open_page, ended):
    page = open_page(path_of(ended), viewport={"width": 1280, "height": 900})
    rows, sections = page.locator("#prompts tbody tr"), page.locator("nav.sections")
    expect(rows).to_have_count(3)
    assert speeds(page) == sorted(speeds(page), reverse=True)
    head = page.locator("table.numbers thead th").nth(1)
    for way in ("descending", "ascending"):
        head.locator("button:not(.term)").click()
        expect(head).to_have_attribute("aria-sort", way)
    assert speeds(page) == sorted(speeds(page))

    page.click("[data-lane='2']")
    before = page.url
    sections.get_by_text("Prompts").click()
    expect(page.locator("#prompts-title")).to_be_in_viewport()
    expect(sections).to_be_in_viewport(ratio=0.9)
    assert page.url == before and "strategy=static" in page.url
    page.fill("#prompts [name=words]", "prompt 1")
    expect(rows).to_have_count(1)
    page.fill("#prompts [name=words]", "")
    page.locator("#prompts thead [data-sort='2']").click()
    expect(page.locator("#prompts thead th[aria-sort='descending']")).to_have_text("static:4")
    rows.filter(has=page.locator("[data-open='2']")).locator("td [data-run='3']").click()
    expect(page.locator("#heat")).to_contain_text("Prompt 2 of 3")
    expect(page.locator("#text-of")).to_have_text("as heuristic:5 wrote it")
    assert re.search(r"strategy=heuristic%3A5&prompt=2", page.url)
    expect(page.locator("#race-title")).to_be_in_viewport()
    fits_every_width(page)
    is_readable_on_paper(page)


def fits_every_width(page) -> None:
    page.locator("#what-if").scroll_into_view_if_needed()
    expect(page.locator("#what-said")).to_contain_text("Simulated")
    for width in (360, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        for chart in ("#rounds", "#curve", "#forest"):  # drawn anew for the width they now have
            box = page.locator(chart).bounding_box()
            expect(page.locator(chart)).to_have_attribute("viewBox", f"0 0 {box['width']:.0f} {box['height']:.0f}")
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)


DRAWINGS = "svg:is(.chart, .track)"
NOTE = f"""addEventListener('beforeprint', () => {{
    window.printed = [...document.querySelectorAll("{DRAWINGS}")].map((one) => one.viewBox.baseVal?.width);
}})"""  # the page's own listeners came before
SHOWN = "all => all.map((one) => one.checkVisibility() ? one.getBoundingClientRect().width : 0)"


def is_readable_on_paper(page) -> None:
    """Letters of charts have 7 points at least, though the screen was as wide as 4K; nothing is there to press."""
    page.evaluate(NOTE)
    page.pdf()
    drawn = page.evaluate("window.printed")
    page.set_viewport_size({"width": 690, "height": 980})  # A4 without its margins
    page.emulate_media(media="print")
    shown = page.locator(DRAWINGS).evaluate_all(SHOWN)
    assert min(9 * width / of for width, of in zip(shown, drawn, strict=True) if width) >= 7
    expect(page.locator(":is(.term, a[download], nav, .button):visible")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 690


def move_into(page, chart: str, share: float) -> None:
    page.locator(chart).scroll_into_view_if_needed()
    box = page.locator(chart).bounding_box()
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def test_charts_are_asked_by_pointer_and_by_key_and_saved(open_page, ended):
    page = open_page(path_of(ended) + "#strategy=static:4")
    has_its_table_and_another_text_beside_it(page)
    is_read_on_one_clock_and_a_part_of_it_is_shown_by_drag_and_the_whole_by_key(page)
    a_name_in_a_legend_hides_its_line_in_every_chart(page)
    is_saved_as_a_picture_with_its_heading_words_and_colours(page)
    a_dot_opens_its_prompt_by_mouse_and_by_key(page)
    a_bar_of_why_it_is_not_faster_opens_the_rounds_behind_it_by_pointer_key_and_table(page)


def has_its_table_and_another_text_beside_it(page) -> None:
    drawn, rows = page.locator("#rounds [data-round]"), page.locator("[data-twin='rounds'] tbody tr")
    expect(drawn.first).to_be_attached()
    page.click("[data-twin='rounds'] summary")
    expect(rows).to_have_count(drawn.count())
    expect(page.locator("section:has(#positions) .legend .entry")).to_have_text(STRATEGIES[1:])
    expect(page.locator("#categories tbody tr")).to_have_count(len(STRATEGIES) - 1)
    page.select_option("#beside", label="heuristic:5")
    expect(page.locator("#side.s-heuristic .token")).to_have_text(tokens(page).all_inner_texts())
    expect(page.locator("#differs")).to_have_text("The words are the same.")
    page.focus("#scrub")
    page.keyboard.press("Home")
    expect(page.locator("#side .round")).to_have_count(0)
    page.keyboard.press("End")


def is_read_on_one_clock_and_a_part_of_it_is_shown_by_drag_and_the_whole_by_key(page) -> None:
    move_into(page, "#lines", 0.3)
    expect(page.locator("#lines > .cursor text").nth(2)).to_have_text(re.compile(r"^static:4\s\d+$"))
    expect(page.locator("#duet > .cursor text").last).to_have_text(re.compile(r"^round \d+: draft .* target .*"))
    until(lambda: is_dragged_over(page), "a range")  # a part that arrives meanwhile draws the chart anew
    page.mouse.up()
    expect(page.locator("#lines clipPath")).to_be_attached()
    page.locator("#lines").focus()
    page.keyboard.press("0")
    expect(page.locator("#lines clipPath")).to_have_count(0)


def is_dragged_over(page) -> bool:
    page.mouse.up()
    move_into(page, "#lines", 0.3)
    page.mouse.down()
    move_into(page, "#lines", 0.6)
    return page.locator("#lines .cursor .range").count() > 0


def a_name_in_a_legend_hides_its_line_in_every_chart(page) -> None:
    key = page.locator("section:has(> #positions) .legend [data-series='static:4']")
    key.click()
    for chart in ("#positions .s-static", "#lines .s-static", "#forest .s-static"):
        expect(page.locator(chart)).to_have_count(0)
    key.click()
    expect(page.locator("#forest .s-static").first).to_be_attached()


LOOK = f"""async ([png, colour]) => {{
    const pixels = await ({PIXELS})(png), [red, green, blue] = colour.match(/[0-9]+/g).map(Number);
    return [pixels.length, pixels.includes(red + 256 * green + 65536 * blue + 255 * 2 ** 24)];
}}"""


def is_saved_as_a_picture_with_its_heading_words_and_colours(page) -> None:
    box = page.locator("section:has(> #forest)").bounding_box()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as PNG: Speed-up, prompt by prompt").click()
    assert download.value.suggested_filename == "forest.png"
    png = base64.b64encode(Path(download.value.path()).read_bytes()).decode()
    colour = page.locator("#forest .s-static use.mark").evaluate("mark => getComputedStyle(mark).fill")
    size, has_colour = page.evaluate(LOOK, [png, colour])
    assert has_colour and 2 * (box["width"] + 48) * box["height"] < size < 4 * (box["width"] + 50) * (
        box["height"] + 50
    )


def a_dot_opens_its_prompt_by_mouse_and_by_key(page) -> None:
    dots = page.locator("#forest .prompts").first
    dots.scroll_into_view_if_needed()
    place = page.locator("#forest").bounding_box()
    x, y = (float(at) for at in dots.get_attribute("d").removeprefix("M").split("L")[0].split(","))
    page.mouse.move(place["x"] + x, place["y"] + y)
    expect(page.locator("#forest > .cursor text")).to_have_text(re.compile(r"^static:4\sprompt \d+: \d\.\d\d×$"))
    page.mouse.click(place["x"] + x, place["y"] + y)
    page.wait_for_url(re.compile(r"strategy=static%3A4&prompt=\d+"))
    page.locator("#forest").focus()
    page.keyboard.press("End")
    expect(page.locator("main > [role=status].hidden")).to_contain_text("prompt")  # for those who hear it
    number = re.search(r"prompt (\d+)", page.locator("#forest > .cursor text").text_content())[1]
    page.keyboard.press("Enter")
    expect(page.locator("#heat")).to_contain_text(f"Prompt {number} of 3")


def a_bar_of_why_it_is_not_faster_opens_the_rounds_behind_it_by_pointer_key_and_table(page) -> None:
    expect(page.locator("#waterfall .bar")).to_have_count(9)  # bound, five causes, measured, prompt, end to end
    page.click("[data-twin='waterfall'] summary")
    strategy = page.locator("#waterfall-title span").text_content().strip()
    link = page.locator("[data-twin='waterfall'] a", has_text="draft price")
    expect(link).to_have_attribute("href", re.compile(rf"/rounds/\?strategy={quote(strategy)}&cause=drafting$"))
    page.locator("#waterfall a", has_text="draft price").locator(".name").click()
    expect(page.locator("h1")).to_contain_text("Rounds behind draft price")
    page.go_back()
    page.locator("#waterfall").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Rounds behind the bound")
    page.locator("tr[data-round] a").first.click()
    expect(page.locator("#text-of")).to_contain_text(strategy)


def test_what_if_is_asked_by_slider_curve_and_for_several_users_and_run(open_page, ended):
    page = open_page(path_of(ended))
    section, said = page.locator("#what-if"), page.locator("#what-said")
    section.scroll_into_view_if_needed()
    expect(said).to_contain_text("Simulated: static:4 would be")
    says_nothing_of_another_strategy_while_the_answer_is_on_its_way(page, said)
    page.select_option("#what-if [name=strategy]", "static")
    expect(said).to_contain_text("Simulated: static:5 would be")
    page.focus("#curve")
    for key in ("Home", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(said).to_contain_text("Simulated: static:2 would be")
    box = page.locator("#curve").bounding_box()
    page.click("#curve", position={"x": box["width"] / 2, "y": box["height"] - 60})  # below the line, in its column
    expect(said).to_contain_text(re.compile(r"Simulated: static:1\d would be"))
    page.focus("#what-if [name=users]")
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("with 2 users at once")
    section.locator("summary", has_text="as a table").click()
    expect(section.locator("[data-twin='what-if'] tbody tr")).to_have_count(20)  # each asked for by itself
    page.reload()
    section.scroll_into_view_if_needed()
    expect(said).to_contain_text(re.compile(r"Simulated: static:1\d @2 would be"))
    page.click("#what-run")
    expect(page.locator("[name=concurrency]")).to_have_value("2")
    expect(page.locator("[name='static.lookahead']")).to_have_value(re.compile(r"1\d"))


def says_nothing_of_another_strategy_while_the_answer_is_on_its_way(page, said) -> None:
    held, curve = [], page.locator("#curve")
    page.route(re.compile("strategy="), lambda route: held.append(route))
    with page.expect_request(re.compile("lookahead=5")):
        page.locator("[data-knobs=static] [name=lookahead]").press("ArrowRight")
    expect(said).to_contain_text("Simulated: static:4 would be")  # its answer stays until the next one
    with page.expect_request(re.compile("strategy=threshold")):
        page.select_option("#what-if [name=strategy]", "threshold")
    expect(said).to_have_text("")
    expect(curve).not_to_be_visible()
    held[-1].continue_()
    page.unroute(re.compile("strategy="))
    expect(said).to_contain_text("Simulated: threshold:0.4 would be")


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


CHART = """
import { become, sketch } from "../core/become.js";
import { size, widthOf } from "../core/picture.js";
import { table as made } from "../core/tables.js";

export const on = { comparison: 99 };
export const title = "Samples of each strategy";
export const sentence = ({ rows }) => rows.map((row) => `${row.name} has ${row.sample_count}`).join(", ");
export const table = ({ rows }) => made(["strategy", "samples"], rows.map((row) => [row.name, row.sample_count]));

export function draw(picture, { rows }) {
  size(picture, widthOf(picture), 20 * rows.length);
  become(picture, ...rows.map((row, i) =>
    sketch("rect", { class: `bar s-${row.strategy}`, y: 20 * i, height: 16, width: 40 * row.sample_count })));
}
"""


@pytest.fixture
def with_a_chart(settings, tmp_path: Path) -> None:
    folder = tmp_path / "static"
    shutil.copytree(configured.BASE_DIR / "static", folder)
    (folder / "js" / "charts" / "samples.js").write_text(CHART)
    settings.STATICFILES_DIRS = [folder]


def test_one_file_brings_title_picture_sentence_and_table(with_a_chart, open_page, ended):
    page = open_page(path_of(ended))
    section = page.locator("section:has(#samples)")
    expect(section.locator("h2")).to_have_text("Samples of each strategy")
    expect(section.locator("#samples .bar")).to_have_count(4)
    said = "autoregressive has 3, static:4 has 3, heuristic:5 has 3, threshold:0.4 has 3"
    expect(page.get_by_role("img", name="Samples of each strategy")).to_have_accessible_description(said)
    section.locator("summary").click()
    expect(section.locator("tbody tr")).to_have_count(4)
    assert page.locator(".evidence section:has(svg.chart) h2").last.inner_text() == "Samples of each strategy"

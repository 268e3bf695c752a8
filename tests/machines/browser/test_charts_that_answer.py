"""Questions to a chart by pointer and by key: a readout, a part of it, fewer lines, a dot's prompt, a file."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import PIXELS, grave_faults
from tests.kit.race import path_of
from tests.machines.browser.conftest import STRATEGIES
from webapp.jobs import services as jobs
from webapp.registry import lengths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def move_into(page, chart: str, share: float) -> None:
    page.locator(chart).scroll_into_view_if_needed()
    box = page.locator(chart).bounding_box()
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)


def marks(page, chart: str) -> list[str]:
    return page.locator(f"{chart} > g:not(.cursor) > text").all_text_contents()


def test_lengths_of_prompts_are_drawn_once_a_worker_has_counted_and_read_by_key(open_page, employ, by):
    worker = employ(lambda: make.comparison(by))
    pair, dataset = worker.does(lambda: (worker.comparison.pair, worker.comparison.dataset))
    page = open_page(f"/datasets/{dataset.pk}/?pair={pair.pk}")
    worker.does(lengths.count, dataset=dataset, pair=pair, by=by)
    page.reload()
    expect(page.locator("#lengths [role=status]")).to_contain_text("A worker counts")
    job = worker.does(jobs.claim, worker="w1", queues=["light"])
    worker.does(lengths.counted, job=job, lengths=[3, 5, 5, 9], contexts=(64, 32))
    expect(page.locator("#token-lengths .bar")).to_have_count(7)
    expect(page.locator("#token-lengths-sentence")).to_have_text("2 of 4 prompts have 5 tokens.")
    page.focus("#token-lengths")
    page.keyboard.press("Home")
    expect(page.locator("#token-lengths .cursor text")).to_have_text(["3 tokens", "1 prompt"])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG: Prompts by length").click()
    assert saved.value.suggested_filename == "token-lengths.png"
    assert grave_faults(page) == []


def test_charts_are_asked_by_pointer_and_by_key_printed_and_saved(open_page, ended):
    page = open_page(path_of(ended))
    expect(page.locator("#positions .line").first).to_be_attached()
    a_pointer_reads_every_line_and_charts_on_the_same_clock_show_the_same_moment(page)
    a_part_of_an_axis_is_shown_by_drag_and_the_whole_by_key(page)
    a_name_in_a_legend_hides_its_line_in_every_chart_and_brings_it_back(page)
    a_dot_opens_its_prompt_by_mouse_and_by_key(page)
    is_saved_as_a_picture_with_its_heading_words_and_colours(page)
    on_paper_a_loss_a_total_and_the_largest_loss_look_different_without_colour(page)
    a_bar_of_why_it_is_not_faster_opens_the_rounds_behind_it_by_pointer_key_and_table(page)


def a_pointer_reads_every_line_and_charts_on_the_same_clock_show_the_same_moment(page) -> None:
    move_into(page, "#lines", 0.3)
    told = page.locator("#lines > .cursor text")
    expect(told).to_have_count(len(STRATEGIES) + 1)
    expect(told.first).to_have_text(re.compile(r"^\d+\.\d\d ms$"))
    expect(told.nth(2)).to_have_text(re.compile(r"^static:4\s\d+$"))
    expect(page.locator("#duet > .cursor text").last).to_have_text(re.compile(r"^round \d+: draft .* target .*"))
    move_into(page, "h1", 0.5)
    expect(page.locator(".cursor text")).to_have_count(0)


def a_part_of_an_axis_is_shown_by_drag_and_the_whole_by_key(page) -> None:
    before = marks(page, "#lines")
    move_into(page, "#lines", 0.3)
    page.mouse.down()
    move_into(page, "#lines", 0.6)
    expect(page.locator("#lines .cursor .range")).to_be_attached()
    page.mouse.up()
    expect(page.locator("#lines clipPath")).to_be_attached()
    assert marks(page, "#lines") != before
    page.locator("#lines").focus()
    page.keyboard.press("0")
    expect(page.locator("#lines clipPath")).to_have_count(0)
    assert marks(page, "#lines") == before


def a_name_in_a_legend_hides_its_line_in_every_chart_and_brings_it_back(page) -> None:
    key = page.locator("section:has(> #positions) .legend [data-series='static:4']")
    key.click()
    expect(key).to_have_attribute("aria-pressed", "false")
    for chart in ("#positions .s-static", "#lines .s-static", "#forest .s-static"):
        expect(page.locator(chart)).to_have_count(0)
    key.click()
    expect(page.locator("#positions .s-static").first).to_be_attached()


def a_dot_opens_its_prompt_by_mouse_and_by_key(page) -> None:
    dots = page.locator("#forest .prompts").first
    dots.scroll_into_view_if_needed()
    place = page.locator("#forest").bounding_box()
    x, y = (float(at) for at in dots.get_attribute("d").removeprefix("M").split("L")[0].split(","))
    page.mouse.move(place["x"] + x, place["y"] + y)
    expect(page.locator("#forest > .cursor text")).to_have_text(re.compile(r"^static:4\sprompt \d+: \d\.\d\d×$"))
    page.mouse.click(place["x"] + x, place["y"] + y)
    expect(page.locator("#text-of")).to_have_text("as static:4 wrote it")
    assert re.search(r"strategy=static%3A4&prompt=\d+", page.url)
    page.locator("#forest").focus()
    page.keyboard.press("End")
    expect(page.locator("#forest > .cursor text")).to_have_text(re.compile("prompt"))
    expect(page.locator("main > [role=status].hidden")).to_contain_text("prompt")  # for those who hear it
    number = re.search(r"prompt (\d+)", page.locator("#forest > .cursor text").text_content())[1]
    page.keyboard.press("Enter")
    expect(page.locator("#heat")).to_contain_text(f"Prompt {number} of 3")


def on_paper_a_loss_a_total_and_the_largest_loss_look_different_without_colour(page) -> None:
    expect(page.locator("#waterfall .bar")).to_have_count(9)
    page.emulate_media(media="print")
    kinds = ("whole", "loss:not(.largest)", "largest")
    bars = [page.locator(f"#waterfall .{kind} .bar").first for kind in kinds]
    looks = [bar.evaluate("bar => [getComputedStyle(bar).fill, getComputedStyle(bar).stroke]") for bar in bars]
    assert len({tuple(look) for look in looks}) == 3
    assert all(len(set(re.findall(r"\d+", colour))) == 1 for look in looks for colour in look if colour != "none")
    section = page.locator("section:has(> #waterfall)")
    assert section.evaluate("section => getComputedStyle(section).breakInside") == "avoid"
    assert section.locator("button:visible").count() == 0
    page.emulate_media(media="screen")


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


def a_bar_of_why_it_is_not_faster_opens_the_rounds_behind_it_by_pointer_key_and_table(page) -> None:
    expect(page.locator("#waterfall .bar")).to_have_count(9)  # bound, five causes, measured, prompt, end to end
    expect(page.locator("#waterfall-sentence")).to_contain_text("An oracle with free drafts would reach at most")
    page.click("[data-twin='waterfall'] summary")
    strategy = page.locator("#waterfall-title span").text_content().strip()
    link = page.locator("[data-twin='waterfall'] a", has_text="draft price")
    expect(link).to_have_attribute("href", re.compile(rf"/rounds/\?strategy={quote(strategy)}&cause=drafting$"))
    page.locator("#waterfall a", has_text="draft price").locator(".name").click()
    expect(page.locator("h1")).to_contain_text("Rounds behind draft price")
    expect(page.locator("tr[data-round]").first).to_be_visible()
    page.go_back()
    page.locator("#waterfall").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Rounds behind the bound")
    page.locator("tr[data-round] a").first.click()
    expect(page.locator("#text-of")).to_contain_text(strategy)

"""Question marks that explain a word: by keyboard, by touch, in a file, and not on paper."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit.browser import grave_faults

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SPEED_UP = ".term[aria-label='What is speed-up?']"


def meaning(page, mark: str):
    """Return the sentence that a question mark opens."""
    return page.locator(f"#{page.locator(mark).get_attribute('popovertarget')}")


def test_a_word_is_explained_by_keyboard_beside_it_and_a_charts_heading_by_touch(ended, open_page):
    size = {"width": 1280, "height": 900}
    page = open_page(f"/comparisons/{ended.comparison.pk}/", has_touch=True, viewport=size)
    sentence = meaning(page, SPEED_UP)
    expect(sentence).to_be_hidden()
    page.focus(SPEED_UP)
    page.keyboard.press("Enter")
    expect(sentence).to_be_visible()
    expect(sentence.locator("a")).to_have_attribute("href", "/docs/glossary/#speed-up")
    mark, box = page.locator(SPEED_UP).bounding_box(), sentence.bounding_box()
    assert 0 <= box["y"] - (mark["y"] + mark["height"]) < 16 and abs(box["x"] - mark["x"]) < 32
    page.keyboard.press("Tab")
    expect(sentence.locator("a")).to_be_focused()
    page.keyboard.press("Escape")
    expect(sentence).to_be_hidden()

    page.set_viewport_size({"width": 360, "height": 740})
    in_heading = "section:has(> #waterfall) .term"
    page.locator(in_heading).scroll_into_view_if_needed()
    page.tap(in_heading)
    box = meaning(page, in_heading).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    assert grave_faults(page) == []
    page.touchscreen.tap(5, 5)
    expect(meaning(page, in_heading)).to_be_hidden()

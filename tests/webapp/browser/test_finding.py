"""Ctrl-K from any page to any thing, by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import grave_faults_of_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_pair_is_two_keys_and_its_name_away(open_page, world):
    make.pair(world.actor(world.bob), name="Owl and mouse")
    page = open_page("/jobs/")
    page.keyboard.press("Control+k")
    page.keyboard.type("owl")
    expect(page.locator("#find-list [aria-selected=true]")).to_contain_text("Owl and mouse")
    assert grave_faults_of_both_themes(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Owl and mouse")


def test_arrows_choose_and_escape_closes(open_page, world):
    page = open_page("/jobs/")
    page.click("[data-find]")
    expect(page.locator("#found-0")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#found-1")).to_have_attribute("aria-selected", "true")
    page.keyboard.type("lookup")
    expect(page.locator("#find-list")).to_contain_text("Prompt lookup: lookup")
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()

"""Journeys of strangers, with every click and every field counted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import COMPARISON
from tests.kit.stranger import Stranger
from webapp.accounts import services as accounts
from webapp.comparisons import demo
from webapp.comparisons.models import Comparison
from webapp.jobs import services as jobs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def first_link(transactional_db, world, by) -> str:
    """Return the sign-in link that the first start prints, beside the starter pair and its prompts."""
    make.pair(by, name=demo.STARTER)
    make.dataset(by, count=demo.PROMPTS, name=f"{demo.STARTER} code")
    return f"/enter/{accounts.issue_sign_in_link(user=world.bob)}/"


def test_from_the_link_of_the_first_start_to_moving_blocks_are_two_clicks(first_link, open_page, address, employ):
    page = open_page("/sign-in/")
    page.context.clear_cookies()
    page.goto(address + first_link)
    stranger = Stranger(page)
    stranger.click("button")
    stranger.sees("Comparisons")
    stranger.click("text=Run the demo")
    page.wait_for_url(COMPARISON)
    worker = employ(Comparison.objects.get)
    worker.claim()
    worker.begin().write(6)
    expect(page.locator("#race .tokens").first).to_have_attribute("d", re.compile("M.+Z"))
    assert stranger.count == (2, 0)


def test_a_failed_run_is_understood_and_tried_again_with_two_clicks(open_page, worker):
    worker.claim()
    worker.does(jobs.fail, job=worker.job, reason="The draft could not be loaded.")
    stranger = Stranger(open_page("/comparisons/"))
    stranger.click("tbody th a")
    expect(stranger.page.locator("#verdict")).to_contain_text("The draft could not be loaded.")
    stranger.click("text=Try again")
    expect(stranger.page.locator("main")).to_contain_text("It is in the queue again.")


@pytest.mark.smoke
def test_a_comparison_of_a_pair_is_launched_with_two_clicks(open_page, worker):
    stranger = Stranger(open_page("/comparisons/"))
    stranger.click("text=New comparison")
    expect(stranger.page.locator(".plan")).to_contain_text("samples")
    stranger.click("[name=launch]")
    stranger.page.wait_for_url(COMPARISON)
    assert stranger.count == (2, 0)

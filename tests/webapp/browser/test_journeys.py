"""Journeys of strangers, with every click and every field counted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import CLIPBOARD, COMPARISON, copied, grave_faults, launch_by_keyboard
from tests.kit.race import path_of, tokens
from tests.kit.stranger import Stranger
from webapp.accounts import services as accounts
from webapp.accounts.models import Role
from webapp.comparisons import demo
from webapp.comparisons.models import Comparison
from webapp.jobs import services as jobs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def first_link(transactional_db, world) -> str:
    """Return the sign-in link that the first start prints, beside the starter pair and its prompts."""
    by = world.actor(world.bob)
    make.pair(by, name=demo.STARTER)
    make.dataset(by, count=demo.PROMPTS, name=f"{demo.STARTER} code")
    return f"/enter/{accounts.issue_sign_in_link(user=world.bob)}/"


@pytest.fixture
def guest(chromium):
    """Return a page of somebody else's browser."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


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


def test_a_comparison_is_launched_in_the_dark_on_a_phone_by_at_most_fifteen_keys(open_page, worker):
    page = open_page("/comparisons/", color_scheme="dark", viewport={"width": 390, "height": 844})
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("New comparison")
    expect(page.locator(".plan")).to_contain_text("samples")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert grave_faults(page) == []
    assert launch_by_keyboard(page) <= 12
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_pair_and_a_csv_of_a_strangers_own_are_launched_with_eleven_clicks_and_fields(open_page, tmp_path):
    for name, layers in (("big", 4), ("small", 1)):
        (tmp_path / name).mkdir()
        for path, data in make.checkpoint(layers=layers).items():
            (tmp_path / name / path).write_bytes(data)
    stranger = Stranger(open_page("/comparisons/"))
    stranger.launch_own_pair_and_csv(tmp_path / "big", tmp_path / "small")
    expect(stranger.page.locator(".about")).to_contain_text("big with small · 2 of mine")  # the verdict comes by itself
    assert stranger.count == (8, 3)


def test_an_edited_form_is_copied_as_curl_with_two_clicks_and_one_field(open_page, worker):
    stranger = Stranger(open_page("/comparisons/new/", **CLIPBOARD))
    stranger.fill("[name=limit]", "2")
    expect(stranger.page.locator(".plan")).to_contain_text("× 2 prompts")
    stranger.click(".plan summary:has-text('curl')")
    stranger.click(".plan [aria-label='Copy as curl']")
    expect(stranger.page.locator(".plan [aria-label='Copy as curl']")).to_have_text("Copied")
    request = copied(stranger.page)
    assert request.startswith("curl -X POST") and '"limit": 2' in request
    assert stranger.count == (2, 1)


def test_a_failed_run_is_understood_and_tried_again_with_two_clicks(open_page, worker):
    worker.claim()
    worker.does(jobs.fail, job=worker.job, reason="The draft could not be loaded.")
    stranger = Stranger(open_page("/comparisons/"))
    expect(stranger.page.locator("tbody")).to_contain_text("The draft could not be loaded.")
    stranger.click("tbody th a")
    expect(stranger.page.locator("#verdict")).to_contain_text("The draft could not be loaded.")
    stranger.click("text=Try again")
    expect(stranger.page.locator("main")).to_contain_text("It is in the queue again.")
    assert stranger.count == (2, 0)


@pytest.mark.smoke
def test_a_comparison_of_a_pair_is_launched_with_two_clicks(open_page, worker):
    stranger = Stranger(open_page("/comparisons/"))
    stranger.click("text=New comparison")
    expect(stranger.page.locator(".plan")).to_contain_text("samples")
    stranger.click("[name=launch]")
    stranger.page.wait_for_url(COMPARISON)
    assert stranger.count == (2, 0)


def test_disco_is_trained_and_plan_and_oracle_are_made_with_two_clicks_each_from_the_pairs_page(open_page, worker):
    pair = worker.comparison.pair
    wanted = (("Train DISCO", "Train it", "Train"), ("Plan", "Launch", "Plan"), ("Oracle", "Launch", "Oracle"))
    for first, last, made in wanted:
        stranger = Stranger(open_page(f"/pairs/{pair.pk}/"))
        stranger.click(f"a:has-text('{first}')")
        stranger.click(f"button:has-text('{last}')")
        expect(stranger.page.locator("h1")).to_contain_text(made)
        assert stranger.count == (2, 0)


def test_nine_runs_are_launched_with_two_clicks_and_one_field(open_page, worker):
    stranger = Stranger(open_page("/comparisons/"))
    stranger.click("text=New comparison")
    stranger.fill("[name='static.lookahead']", "1, 2, 3, 4, 5, 6, 8")
    expect(stranger.page.locator(".plan")).to_contain_text("9 runs")
    stranger.click("[name=launch]")
    stranger.page.wait_for_url(COMPARISON)
    expect(stranger.page.locator("#race [data-lane]")).to_have_count(9)
    assert stranger.count == (2, 1)


def test_a_race_is_watched_replayed_asked_what_if_and_compared_anew_with_one_click_and_three_fields(open_page, worker):
    worker.claim()
    first = worker.begin()
    first.write(6)
    stranger = Stranger(open_page(path_of(worker)))
    page = stranger.page
    expect(page.locator("#race .tokens").first).to_have_attribute("d", re.compile("M.+Z"))
    first.finish()
    worker.finish_all()
    expect(page.locator("#replay")).to_be_visible()
    whole = tokens(page).all_inner_texts()
    stranger.slide("#scrub", "Home")
    expect(tokens(page)).to_have_count(0)
    stranger.click("#play")
    expect(tokens(page)).to_have_text(whole)
    page.locator("#what-if").scroll_into_view_if_needed()
    expect(page.locator("#what-said")).to_contain_text("Simulated: static:4 would be")
    stranger.slide("[data-knobs=static] [name=lookahead]", "ArrowRight")
    expect(page.locator("#what-said")).to_contain_text("Simulated: static:5 would be")
    stranger.select("#baseline", "static:4")
    expect(page.locator("h1")).to_contain_text("static:4's speed")
    assert stranger.count == (1, 3)


def test_somebody_is_invited_with_one_click_joins_with_one_and_a_link_is_revoked_with_one(
    open_page, worker, world, guest
):
    worker.does(lambda: world.bob.memberships.update(role=Role.OWNER))
    stranger = Stranger(open_page("/team/"))
    stranger.click("text=Make an invitation link")
    invited = Stranger(guest)
    link = stranger.page.locator(".secret code")
    used = link.inner_text()
    guest.goto(used)
    invited.fill("[name=username]", "guest")
    invited.fill("[name=password]", "a long pass phrase")
    invited.click("text=Make an account and join")
    expect(guest.locator("main")).to_contain_text("Welcome to Alice's lab.")
    assert invited.count == (1, 2)
    stranger.click("text=Make an invitation link")
    expect(link).not_to_have_text(used)
    late = link.inner_text()
    stranger.click("button:has-text('Revoke')")
    expect(stranger.page.locator("main")).not_to_contain_text("Open invitations")
    guest.goto(late)
    expect(guest.locator("h1")).not_to_contain_text("Join")
    assert stranger.count == (3, 0)


def test_a_result_is_shared_without_its_texts_and_the_link_revoked_with_four_clicks(open_page, worker, guest):
    worker.claim()
    worker.finish_all()
    stranger = Stranger(open_page(path_of(worker)))
    stranger.click("text=Share")
    stranger.click("[name=hides_texts]")
    stranger.click("text=Make a link")
    guest.goto(stranger.page.locator(".secret code").inner_text())
    expect(guest.locator("main")).to_contain_text("The link hides prompts and texts")
    expect(guest.locator("main")).not_to_contain_text("prompt 0")
    stranger.click("button:has-text('Revoke')")
    expect(stranger.page.locator("main")).not_to_contain_text("Revoke")
    guest.reload()
    expect(guest.locator("main")).not_to_contain_text("Verdict")
    assert stranger.count == (4, 0)


def test_runs_of_one_strategy_are_found_with_one_choice_and_one_click(open_page, worker):
    worker.claim()
    worker.finish_all()
    stranger = Stranger(open_page("/runs/"))
    stranger.select("[name=strategy]", "static")
    stranger.click("button:has-text('Show')")
    expect(stranger.page.locator("tbody tr th")).to_contain_text(["static:4"])
    assert stranger.count == (1, 1)

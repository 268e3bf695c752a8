"""All of it as a user meets it: `./drafthouse up`, a real worker with the starter pair, a real Chromium. Nothing is
played, so nothing here knows how fast anything is: every wait is for something that is seen. Set DRAFTHOUSE_SHOTS to a
folder and what was looked at is kept there in pictures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.kit.browser import PATIENCE, STARTER, keep, mode
from tests.kit.stranger import Stranger
from tests.kit.up import Up

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = Up(tmp_path_factory.mktemp("lab"))
    try:
        yield up.wait(PATIENCE)
    finally:
        if up.process.poll() is None:
            up.interrupt()
        shutil.rmtree(up.data)


@pytest.fixture
def page(up: Up, new_page: Callable[..., Any]) -> Any:
    """A page of somebody who signed in by the link that the first start prints."""
    page = new_page()
    page.goto(up.said.split("half an hour: ")[-1].split()[0])
    page.click("main button")
    expect(page.locator("h1")).to_have_text("Comparisons")
    return page


def test_a_strangers_own_pair_and_csv_reach_a_verdict_and_a_race_outlives_a_reload_and_a_lost_network(
    page, new_page, tmp_path
):
    for name, role in (("big", "target"), ("small", "draft")):
        shutil.copytree(STARTER / "pair" / role, tmp_path / name)
    stranger = Stranger(page)
    stranger.launch_own_pair_and_csv(tmp_path / "big", tmp_path / "small")
    expect(page.locator("#mode")).to_have_text("Finished")
    expect(page.locator("h1")).to_contain_text("nobody can say yet which is fastest")
    expect(page.locator("#verdict tbody tr").nth(1)).to_contain_text("identical")
    keep(page, "end-to-end-own-verdict")
    assert stranger.count == (9, 5)

    a_longer_one_is_watched_through_a_reload_and_a_lost_network_until_it_is_cancelled(page, new_page)


def a_longer_one_is_watched_through_a_reload_and_a_lost_network_until_it_is_cancelled(page, new_page) -> None:
    page.click("text=Clone")
    page.click("summary:has-text('Repeats')")
    page.fill("[name=repeats]", "100")  # far more than is waited for
    expect(page.locator(".plan")).to_contain_text("samples")
    page.click("text=Launch")
    mode(page, "live")
    expect(page.locator("#strip .round").first).to_be_attached()
    page.reload()
    mode(page, "live")
    late = new_page(storage_state=page.context.storage_state(), color_scheme="dark")
    late.goto(page.url)
    mode(late, "live")
    page.context.set_offline(True)
    mode(page, "reconnecting")
    more(late)
    page.context.set_offline(False)
    mode(page, "live")
    more(page)
    with page.expect_response(re.compile("/cancel/")):
        page.click("text=Cancel")
    for tab in (page, late):
        mode(tab, "finished")
        expect(tab.locator("#mode")).to_have_text("Cancelled")
        expect(tab.locator("#verdict .note").first).to_contain_text("Cancelled while it ran.")


def more(page: Any) -> None:
    """Wait for some samples more than now."""
    enough = int(page.locator("#done").inner_text().split()[0]) + 4
    page.wait_for_function("enough => parseInt(document.querySelector('#done').textContent) >= enough", arg=enough)

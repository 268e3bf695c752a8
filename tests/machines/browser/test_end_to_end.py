"""All of it as a user meets it: `./drafthouse up`, a real worker with the starter pair, a real Chromium. Nothing is
played, so nothing here knows how fast anything is: every wait is for something that is seen. Set DRAFTHOUSE_SHOTS to a
folder and what was looked at is kept there in pictures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.kit.browser import (
    PATIENCE,
    PROMPTS,
    STARTER,
    Lab,
    keep,
    mode,
    more,
    prompts,
    shown,
    traces_of,
    upload,
    without_network,
)
from tests.kit.stranger import Stranger
from tests.kit.up import Up

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAIR, DATASET = "mine", "ten of mine"
CHOICE = f"{PAIR}: target / draft"


@pytest.fixture(scope="module")
def lab(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Signed in by the link that the first start prints."""
    up = Up(tmp_path_factory.mktemp("lab"))
    try:
        lab = Lab(up.wait(PATIENCE), chromium)
        page = lab.open(up.said.split("half an hour: ")[-1].split()[0])
        page.click("main button")
        expect(page.locator("h1")).to_have_text("Comparisons")
        lab.identity = page.context.storage_state()
        page.context.close()
        yield lab
    finally:
        if up.process.poll() is None:
            up.interrupt()
        shutil.rmtree(up.data)


def test_a_strangers_own_pair_and_csv_reach_a_verdict_with_eleven_clicks_and_fields(lab, tmp_path):
    for name, role in (("big", "target"), ("small", "draft")):
        shutil.copytree(STARTER / "pair" / role, tmp_path / name)
    stranger = Stranger(lab.open("/comparisons/"))
    stranger.launch_own_pair_and_csv(tmp_path / "big", tmp_path / "small")
    keep(stranger.page, "end-to-end-own-launched")
    expect(stranger.page.locator("#mode")).to_have_text("Finished")
    expect(stranger.page.locator("h1")).to_contain_text("nobody can say yet which is fastest")
    expect(stranger.page.locator("#verdict tbody tr").nth(1)).to_contain_text("identical")
    keep(stranger.page, "end-to-end-own-verdict")
    assert stranger.count == (8, 3)


@pytest.fixture(scope="module")
def materials(lab: Lab) -> Lab:
    """A pair and prompts, added as a user adds them: by choosing folders and files of this computer."""
    page = lab.open("/models/new/")
    for role in ("target", "draft"):
        page.goto(f"{lab.up.address}/models/new/")
        upload(page, "[data-upload]:not([hidden]) input[webkitdirectory]", STARTER / "pair" / role)
        expect(page.locator("[name=name]")).to_have_value(role)
        page.click("text=Add the model")
        expect(page.locator("h1")).to_have_text(role)
    page.goto(f"{lab.up.address}/pairs/new/")
    page.fill("[name=name]", PAIR)
    page.select_option("[name=target]", label="target")
    page.select_option("[name=draft]", label="draft")
    page.click("text=Make the pair")
    expect(page.locator(".findings")).to_contain_text("fits")

    page.goto(f"{lab.up.address}/datasets/new/")
    page.fill("[name=name]", DATASET)
    page.click("text=Or a file from this computer")
    file = {"name": "ten.jsonl", "mimeType": "application/jsonl", "buffer": prompts()}
    upload(page, "[data-upload]:not([hidden]) input:not([webkitdirectory])", [file])
    page.click("text=Add the prompts")
    expect(page.locator("main")).to_contain_text(f"{PROMPTS} prompts from ten.jsonl")
    keep(page, "end-to-end-prompts")
    page.context.close()
    return lab


@pytest.fixture(autouse=True)
def no_complaints(lab: Lab) -> Iterator[None]:
    yield
    for context in lab.chromium.contexts:
        context.close()
    assert lab.complaints == []


def test_a_race_is_watched_through_a_reload_a_late_tab_and_a_lost_network_until_it_is_cancelled(materials):
    page = launch_a_long_one(materials)
    mode(page, "live")
    expect(page.locator("#strip .round").first).to_be_attached()
    more(page)
    keep(page, "end-to-end-race-live")

    page.reload()
    mode(page, "live")
    late = materials.open(page.url, color_scheme="dark")
    mode(late, "live")
    with without_network(page):
        mode(page, "reconnecting")
        more(late)
    mode(page, "live")
    more(page)
    keep(late, "end-to-end-race-late-dark")

    with page.expect_response(re.compile("/cancel/")):
        page.click("text=Cancel")
    for tab in (page, late):
        mode(tab, "finished")
        expect(tab.locator("#mode")).to_have_text("Cancelled")
        expect(tab.locator("#verdict .note").first).to_contain_text("Cancelled while it ran.")
    traces = traces_of(page)
    assert shown(page, traces) == shown(late, traces) == traces


def launch_a_long_one(lab: Lab) -> Page:
    page = lab.open("/comparisons/new/")
    page.select_option("[name=pair]", label=CHOICE)
    page.select_option("[name=dataset]", label=DATASET)
    page.click("summary:has-text('Repeats')")
    page.fill("[name=repeats]", "100")  # far more than is waited for
    page.uncheck("[name=use][value=heuristic]")
    page.fill("[name='static.lookahead']", "3, 5")
    page.click("summary:has-text('Sampling')")
    page.fill("[name=max_new_tokens]", "48")
    expect(page.locator(".plan")).to_contain_text("3 runs × 10 prompts")
    page.click("text=Launch")
    return page

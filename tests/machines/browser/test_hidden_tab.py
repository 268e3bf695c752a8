"""A minimised window, to which Chromium gives no frame. News that arrive meanwhile are kept and nothing is drawn; when
the window is shown again, it shows all of them at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.kit.up import until
from tests.machines.browser.conftest import ARGUMENTS, ENGLISH, EXPECTED, STRATEGIES, name_of
from tests.programs import CHROMIUM, locate

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
HEADLESS = ("--headless=new", "--remote-debugging-port=0", "about:blank")
WITHOUT_FRAMES = 50  # ms between two looks at a page; Playwright would look at each frame, and there is none


class Window:
    """A window of a browser of its own, because Playwright keeps the pages of its own browsers visible whatever
    happens."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.line = page.context.new_cdp_session(page)
        self.number = self.line.send("Browser.getWindowForTarget")["windowId"]

    def becomes(self, state: str, seen: str) -> None:
        self.line.send("Browser.setWindowBounds", {"windowId": self.number, "bounds": {"windowState": state}})
        self.page.wait_for_function(f"document.visibilityState === '{seen}'", polling=WITHOUT_FRAMES)

    def minimise(self) -> None:
        self.becomes("minimized", "hidden")

    def restore(self) -> None:
        self.becomes("normal", "visible")


@pytest.fixture
def window(chromium: Any, address: str, world: Any, tmp_path: Any) -> Iterator[Window]:
    """Bob's."""
    said = tmp_path / "said.txt"
    command = [str(locate(CHROMIUM)), f"--user-data-dir={tmp_path / 'profile'}", *ARGUMENTS, *HEADLESS]
    with said.open("w") as ear:
        process = subprocess.Popen(command, stderr=ear, env=ENGLISH, start_new_session=True)
    listens = until(lambda: re.search(r"DevTools listening on (\S+)\n", said.read_text()), "Chromium's own line")
    browser = chromium.browser_type.connect_over_cdp(listens[1], no_defaults=True)
    context = browser.contexts[0]
    client = Client()
    client.force_login(world.bob)
    context.add_cookies([{"name": "dh_session", "value": client.cookies["dh_session"].value, "url": address}])
    page = context.pages[0]
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Window(page)
    browser.close()
    os.killpg(process.pid, signal.SIGKILL)  # it may have children that outlive it
    process.wait()
    assert complaints == []


@pytest.fixture
def watched(window, worker, address):
    """Eight events of the first sample are on the screen, and then nobody looks."""
    worker.claim()
    sample = worker.begin()
    sample.write(8)
    page = window.page
    page.goto(f"{address}/comparisons/{worker.comparison.pk}/")
    expect(page.locator("#mode")).to_have_attribute("data-mode", "live")
    page.check("[data-lane='1'] input", force=True)
    expect(page.locator("#strip .token")).to_have_count(7)
    window.minimise()
    return sample


def arrives(page, selector: str, text: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector).textContent.includes(text)",
        arg=[selector, text],
        polling=WITHOUT_FRAMES,
    )


def tokens_of(sample, upto: int) -> int:
    return sum(event["accepted"] + 1 for event in sample.events[:upto] if event["event"] == "verified")


def shows(page, sample_name: str) -> None:
    wanted = EXPECTED[sample_name]["tokens"]
    expect(page.locator("#strip .token")).to_have_text([f"w{token}" for token in wanted])


def test_what_came_while_nobody_looked_and_the_end_are_there_when_somebody_does(window, worker, watched):
    page = window.page
    watched.finish()
    for _ in STRATEGIES[1:]:
        worker.begin().finish()
    second = worker.begin()
    second.write(5)
    arrives(page, "#heat", "Prompt 2 of 3")
    expect(page.locator("#strip .token")).to_have_count(7)  # as it was left

    window.restore()
    expect(page.locator("#done")).to_have_text("4 of 12 samples")
    expect(page.locator("#strip .token")).to_have_count(tokens_of(second, 5))
    second.write(11)
    expect(page.locator("#strip .token")).to_have_count(tokens_of(second, 11))
    expect(page.locator("#mode")).to_have_attribute("data-mode", "live")
    page.keyboard.press("[")
    for number, label in enumerate(STRATEGIES, 1):
        page.keyboard.press(str(number))
        shows(page, name_of(label))

    page.keyboard.press("1")
    window.minimise()
    second.finish()
    worker.finish_all()
    arrives(page, "#mode", "Finished")
    arrives(page, "h1", "On 3 prompts")
    page.wait_for_function("document.title.startsWith('✓ ')", polling=WITHOUT_FRAMES)
    expect(page.locator(".way")).to_be_visible()  # as it was left
    window.restore()
    shows(page, "autoregressive")
    expect(page.locator("#replay")).to_be_visible()
    expect(page.locator(".way")).to_be_hidden()
    expect(page.locator("#what-if")).to_be_attached()

"""A tab in the background says how a run goes and ends, and asks for nothing until somebody clicks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.machines.browser.conftest import Worker

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NOTED = """
window.asked = 0; window.told = [];
class Noted {
  static permission = "default";
  static async requestPermission() { window.asked++; Noted.permission = "granted"; return "granted"; }
  constructor(title, { body }) { window.told.push([title, body]); }
}
window.Notification = Noted;
"""  # a headless browser shows no notification to look at


def test_the_tab_tells_the_end_and_a_notification_only_after_a_click(open_page, worker: Worker):
    page = open_page("/comparisons/")
    page.add_init_script(NOTED)
    page.goto(page.url + f"{worker.comparison.pk}/")
    expect(page.locator("[data-notify]")).to_be_visible()
    assert page.evaluate("window.asked") == 0
    page.click("[data-notify]")
    expect(page.locator("[data-notify]")).to_be_hidden()
    assert page.evaluate("window.asked") == 1
    worker.claim()
    worker.begin().finish()
    page.wait_for_function("() => /^[1-9]\\d* % · /.test(document.title)")
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    worker.finish_all()
    page.wait_for_function("() => document.title.startsWith('✓ ')")
    [[_, body]] = page.evaluate("window.told")
    assert body == "Finished"

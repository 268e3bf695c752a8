"""Chromium for benchmarks: signed in, and asked for its own figures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import CHROMIUM, locate
from worker import gauges

SCRIPTS = Path(__file__).parent / "_in_page"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--enable-precise-memory-info")


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=locate(CHROMIUM), args=[*ARGUMENTS, *arguments])
        yield browser
        browser.close()


def in_page(name: str) -> str:
    """Read a script that runs in the page."""
    return (SCRIPTS / f"{name}.js").read_text()


def signed_in(browser: Any, link: str) -> Any:
    """Return a browser context that is signed in by a one-time link."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(link)
    page.click("main button")
    page.wait_for_url("**/comparisons/")
    page.close()
    return context


def cookie(context: Any) -> str:
    return "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())


def clock_offset_ns(page: Any) -> int:
    """Offset in ns from a page's `performance.now()` to this process's `perf_counter_ns()`: the fastest of 20 tries."""
    best = None
    for _ in range(20):
        before = time.perf_counter_ns()
        there = page.evaluate("performance.now()") * 1e6
        after = time.perf_counter_ns()
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2 - int(there))
    assert best
    return best[1]


def renderer(page: Any) -> int:
    """Process of this page: the largest of all renderers."""
    session = page.context.browser.new_browser_cdp_session()
    rows = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return int(max((row["id"] for row in rows if row["type"] == "renderer"), key=gauges.memory_of))

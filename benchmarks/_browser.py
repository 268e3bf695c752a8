"""Chromium for benchmarks: signed in, and asked for its own figures."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit.up import until
from tests.programs import CHROMIUM, locate

SCRIPTS = Path(__file__).parent / "_in_page"
ARGUMENTS = ("--no-sandbox", "--disable-background-networking", "--enable-precise-memory-info")


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=locate(CHROMIUM), args=[*ARGUMENTS, *arguments])
        yield browser
        browser.close()


class Unheard:
    """Chromium without an attached Playwright. While attached, Playwright keeps the body of every answer, and each new
    attachment adds a copy of its scripts: more than the page itself within an hour. Afterwards this class asks the page
    through the DevTools protocol, with short messages."""

    def __init__(self, folder: Path) -> None:
        said = folder / "chromium.txt"
        command = [str(locate(CHROMIUM)), f"--user-data-dir={folder / 'profile'}", *ARGUMENTS,
                   "--headless=new", "--remote-debugging-port=0", "--window-size=1280,980", "about:blank"]  # fmt: skip
        with said.open("w") as ear:
            self._process = subprocess.Popen(command, stderr=ear)
        found = until(lambda: re.search(r"DevTools listening on (\S+)\n", said.read_text()), "Chromium's own line")
        self._listens = str(found[1])

    @contextmanager
    def attached(self) -> Iterator[Any]:
        """Yield its only page, with Playwright attached."""
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.connect_over_cdp(self._listens, no_defaults=True)
            yield browser.contexts[0].pages[0]
            browser.close()

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method of the DevTools protocol on its only page."""
        from websockets.sync.client import connect  # imported late: --help must not need it

        with connect(self._listens, max_size=None) as line:
            targets = _answer(line, "Target.getTargets")["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            session = _answer(line, "Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
            return _answer(line, method, session, **params)

    def value(self, script: str) -> Any:
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


def _answer(line: Any, method: str, session: str = "", **params: Any) -> Any:
    line.send(json.dumps({"id": 1, "method": method, "params": params, **({"sessionId": session} if session else {})}))
    while True:
        told = json.loads(line.recv())
        if told.get("id") == 1:
            return told["result"]


def in_page(name: str) -> str:
    """Read a script that runs in the page."""
    return (SCRIPTS / f"{name}.js").read_text()


def signed_in(browser: Any, link: str) -> Any:
    """Return a browser context that is signed in by a one-time link."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, link)
    page.close()
    return context


def sign_in(page: Any, link: str) -> None:
    page.goto(link)
    page.click("main button")
    page.wait_for_url("**/comparisons/")


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
    return int(
        max((row["id"] for row in rows if row["type"] == "renderer"), key=lambda pid: sum(held_mib(pid).values()))
    )


def held_mib(pid: int) -> dict[str, float]:
    """Memory of a page's process, with its share of shared memory. `program` is unmodified memory mapped from
    Chromium's own files, which every page has; `page` is the rest."""
    held = {"page": 0, "program": 0}
    is_program = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, _, value = line.partition(": ")
        if "-" in name.split(" ")[0]:  # start of a mapping; its last field is the file
            path = line.split(maxsplit=5)[5:]
            is_program = bool(path) and path[0].startswith("/") and not path[0].endswith("(deleted)")
        elif name == "Pss":
            whole = int(value.split()[0])
        elif name == "Anonymous":  # pages of the file that were written to
            written = min(whole, int(value.split()[0])) if is_program else whole
            held["page"] += written
            held["program"] += whole - written
    return {name: kib / 1024 for name, kib in held.items()}

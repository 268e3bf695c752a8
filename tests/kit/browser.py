"""A user at a browser in front of a whole Drafthouse: their actions, and their waits for what appears."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.kit.processes import DEADLINE
from tests.kit.up import ROOT, Up

SHOTS = os.environ.get("DRAFTHOUSE_SHOTS")
PATIENCE = DEADLINE  # a crowded machine takes long to load a model, and nothing here says how long it should
STARTER = ROOT / "starter"
PROMPTS = 10  # six to train with, two to tune by, two to test with
COMPARISON = re.compile("/comparisons/[0-9a-f-]{36}/")
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
OWN_WORDS = "net::ERR_INTERNET_DISCONNECTED"  # what Chromium itself says while there is no network

PIXELS = """async (png) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (one) => one.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return [...new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer)];
}"""


class Lab:
    """A service and somebody who is signed in to it. Every complaint of a console against a page is kept."""

    def __init__(self, up: Up, chromium: Any) -> None:
        self.up, self.chromium = up, chromium
        self.complaints: list[str] = []
        self.identity: Any = None

    def open(self, path: str, **options: Any) -> Page:
        context = self.chromium.new_context(storage_state=self.identity, **options)
        context.set_default_timeout(PATIENCE * 1000)
        page: Page = context.new_page()
        page.on("console", lambda said: self._note(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.goto(path if path.startswith("http") else self.up.address + path)
        return page

    def _note(self, complaint: str) -> None:
        if OWN_WORDS not in complaint:
            self.complaints.append(complaint)


def upload(page: Page, box: str, files: Any) -> None:
    """Choose them, and wait until the form has what was sent."""
    page.set_input_files(box, files)
    expect(page.locator("[name=upload]")).not_to_have_value("")
    expect(page.locator("[data-told]")).to_have_text("sent and checked")


def prompts() -> bytes:
    """The shortest of the starter's, because reading them is all they cost."""
    rows = [json.loads(line) for line in (STARTER / "prompts" / "code.jsonl").read_text().splitlines()]
    shortest = sorted(rows, key=lambda row: len(row["text"]))[:PROMPTS]
    return "".join(json.dumps({"text": row["text"], "id": row["id"]}) + "\n" for row in shortest).encode()


def mode(page: Page, wanted: str) -> None:
    expect(page.locator("#mode")).to_have_attribute("data-mode", wanted)


def done(page: Page) -> int:
    return int(page.locator("#done").inner_text().split()[0])


def more(page: Page) -> None:
    """Some samples more than now."""
    enough = done(page) + 4
    page.wait_for_function("enough => parseInt(document.querySelector('#done').textContent) >= enough", arg=enough)


@contextmanager
def without_network(page: Page) -> Iterator[None]:
    page.context.set_offline(True)
    yield
    page.context.set_offline(False)


def traces_of(page: Page) -> list[list[int]]:
    """Return the rounds of `static:3` in each complete heat, as the API has them."""
    rows = ask(page, f"samples/?comparison={page.url.split('/')[4]}&limit=200")["results"]
    heats: dict[tuple[int, int], dict[str, str]] = {}
    for row in rows:
        heats.setdefault((row["repeat"], row["prompt"]), {})[row["numbers"]["strategy"]] = row["id"]
    mine = [found["static:3"] for _, found in sorted(heats.items()) if len(found) == 3]
    events = [ask(page, f"samples/{sample}/trace/?limit=1000")["events"] for sample in mine]
    return [[event["round"] for event in told if event["event"] == "verified"] for told in events]


def ask(page: Page, path: str) -> Any:
    base = "/".join(page.url.split("/")[:3])
    return page.request.get(f"{base}/api/v1/{path}").json()


def shown(page: Page, traces: list[list[int]]) -> list[list[int]]:
    """Return the same from the page, heat by heat, as it came by socket or is fetched now."""
    page.check("[data-lane='2'] input", force=True)
    found = []
    while page.locator("#before").is_enabled():
        page.click("#before")
    for number, trace in enumerate(traces):
        repeat, prompt = divmod(number, 10)
        expect(page.locator("#heat")).to_contain_text(f"Prompt {prompt + 1} of 10, repeat {repeat + 1} of 100")
        expect(page.locator("#text-of")).to_have_text("as static:3 wrote it")
        expect(page.locator("#strip .round")).to_have_count(len(trace))  # so it is whole
        found.append(page.locator("#strip .round").evaluate_all("all => all.map((each) => Number(each.dataset.round))"))
        if number + 1 < len(traces):
            page.click("#after")
    return found


def go_to(page: Page, wanted: str, key: str = "Tab") -> int:
    """Press the key until the focus is there, and return how often that was."""
    for count in range(300):
        if page.locator(wanted).first.evaluate("element => element === document.activeElement"):
            return count
        page.keyboard.press(key)
    raise AssertionError(f"{key} never reaches {wanted}")


def write(page: Page, wanted: str, text: str, over: bool = False) -> None:
    go_to(page, wanted)
    if over:
        page.keyboard.press("Control+A")
    page.keyboard.type(text)


def launch_by_keyboard(page: Page) -> int:
    """Skip to the content of the form, launch what it asks for, and return how often Tab was pressed."""
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    count = 1 + go_to(page, "[name=launch]")
    page.keyboard.press("Enter")
    page.wait_for_url(COMPARISON)
    return count


def copied(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def grave_faults(page: Page, **options: Any) -> list[tuple[str, list[str]]]:
    """Return what axe finds to be serious or critical, each with the elements that have it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    asked = {"resultTypes": ["violations"], **options}
    found = page.evaluate("asked => axe.run(document, asked)", asked)["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in grave]


def grave_faults_of_both_themes(page: Page) -> list[tuple[str, list[str]]]:
    """Style sheets alone tell the themes apart: in the dark only colours are looked at, and no page is opened twice."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")  # or colours would be on their way
    light = grave_faults(page)
    page.emulate_media(color_scheme="dark")
    dark = grave_faults(page, runOnly={"type": "rule", "values": ["color-contrast", "link-in-text-block"]})
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    return light + [(f"{fault} in the dark", where) for fault, where in dark]


def keep(page: Page, name: str) -> None:
    """Leave a picture for people to look at, if they asked for pictures: drawing a whole page takes time."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png", full_page=True)  # makes the folder

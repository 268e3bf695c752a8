"""A user at a browser: their actions, and their waits for what appears."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.kit.processes import DEADLINE
from tests.kit.up import ROOT

SHOTS = os.environ.get("DRAFTHOUSE_SHOTS")
PATIENCE = DEADLINE  # a crowded machine takes long to load a model, and nothing here says how long it should
STARTER = ROOT / "starter"
COMPARISON = re.compile("/comparisons/[0-9a-f-]{36}/")
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"

PIXELS = """async (png) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (one) => one.charCodeAt(0))]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return [...new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer)];
}"""


def mode(page: Page, wanted: str) -> None:
    expect(page.locator("#mode")).to_have_attribute("data-mode", wanted)


def path_of(worker: Any) -> str:
    return f"/comparisons/{worker.comparison.pk}/"


def tokens(page: Page) -> Locator:
    """Tokens of the strip, which shows one text at a time."""
    return page.locator("#strip .token")


def shows(page: Page, wanted: Iterable[int]) -> None:
    """Wait until the strip holds exactly these tokens, each once, in order."""
    expect(tokens(page)).to_have_text([f"w{token}" for token in wanted])


def choose(page: Page, run: int) -> None:
    """Let the strip show the text of this run."""
    page.check(f"[data-lane='{run}'] input", force=True)


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

"""Make the pictures of the README: the demo of a new lab while it runs, and a second run that nobody watched.

    ./drafthouse bench pictures [--out docs/pictures]

Run it on a quiet machine: the pictures show what was measured.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.kit.up import Up

SIZE = {"width": 1440, "height": 900}
MARGIN = 24  # px around what is shown
SAMPLES = 40  # done when the live picture is taken
DONE = 900_000  # ms


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench pictures", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    return parser.parse_args()


def take(page: Any, out: Path, name: str, first: str, last: str) -> None:
    """Take the part of the page from one element to another, as wide as the page."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        top, end = (page.locator(each).bounding_box() for each in (first, last))
        y = top["y"] - MARGIN
        clip = {"x": 0, "y": y, "width": SIZE["width"], "height": end["y"] + end["height"] + MARGIN - y}
        page.screenshot(path=out / f"{name}-{theme}.png", clip=clip, full_page=True)


def ended(up: Up, token: str, comparison: str) -> None:
    """Wait, and ask seldom."""
    while up.call(f"comparisons/{comparison}/", token)["job"]["state"] != "succeeded":
        time.sleep(5)


def main() -> None:
    out = arguments().out
    from benchmarks._browser import chromium

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dh-pictures-") as folder, chromium() as browser:
        up = Up(Path(folder)).wait()
        try:
            page = browser.new_page(viewport=SIZE)
            page.goto(re.findall(r"http\S+/enter/\S+", up.said)[-1])
            page.click("main button")
            page.click("text=Run the demo")
            page.wait_for_function(
                "done => document.getElementById('progress')?.value >= done", arg=SAMPLES, timeout=DONE
            )
            page.uncheck("#follow")
            page.click("#before")  # the lanes of a prompt that is done
            page.evaluate("scrollTo(0, 0)")
            take(page, out, "live", "#verdict", ".heat")
            page.goto("about:blank")  # a page that draws takes what the strategies need
            token = up.token()
            [demo] = up.call("comparisons/", token)["results"]
            ended(up, token, demo["id"])
            again = up.call(f"comparisons/{demo['id']}/clone/", token, {})["id"]
            ended(up, token, again)
            page.goto(f"{up.address}/comparisons/{again}/")
            take(page, out, "verdict", "#verdict", "#verdict")
        finally:
            up.interrupt()


if __name__ == "__main__":
    main()

"""Make the pictures of the README: the demo of a new lab, live and finished, in the light and the dark theme.

    ./drafthouse bench pictures [--out docs/pictures]

Run it on a quiet machine: the pictures show what was measured.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

from tests.launcher.up import Up

SIZE = {"width": 1200, "height": 720}
SAMPLES = 40  # done when the live picture is taken
DONE = 900_000  # ms


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench pictures", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    return parser.parse_args()


def take(page: Any, out: Path, name: str) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=out / f"{name}-{theme}.png")


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
            take(page, out, "live")
            page.wait_for_selector("#mode[data-mode=finished]", timeout=DONE)
            page.evaluate("scrollTo(0, 0)")
            take(page, out, "verdict")
        finally:
            up.interrupt()


if __name__ == "__main__":
    main()

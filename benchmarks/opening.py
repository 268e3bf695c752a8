"""Measure the size of a comparison's page, how soon it is drawn, and how smoothly its slider moves.

    ./drafthouse bench opening [--times 9] [--seconds 5] [--json FILE]

The finished comparison has 100 prompts and 8 strategies, 100,000 rounds. Chromium opens it, each time with empty
caches, until race, text and evidence are on the screen; then its slider moves at every frame. `./drafthouse bench hour`
measures the page's memory over an hour.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks._browser import chromium, in_page
from benchmarks._serving import load, place, serving, verdict

OPEN_MS, FRAME_MS, WEIGHT_KB = 1500.0, 17.0, 250.0


class Visitor:
    """Signed-in browser with empty caches on each visit."""

    def __init__(self, browser: Any, address: str, session: str) -> None:
        self.browser, self.address = browser, address
        self.cookie = {"name": "dh_session", "value": session, "url": address}

    def come(self, script: str = "") -> Any:
        context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([self.cookie])
        if script:
            context.add_init_script(script)
        return context.new_page()

    def weight(self, path: str) -> dict[str, float]:
        """Transferred kB of a page by kind of file, with ECharts separate."""
        page, sizes = self.come(), Counter()
        finished: list[Any] = []
        page.on("requestfinished", lambda request: finished.append(request))
        page.goto(self.address + path)
        page.wait_for_selector("#mode[data-mode]")
        page.wait_for_load_state("networkidle")
        for request in finished:
            kind = "echarts" if "echarts" in request.url else request.resource_type
            sizes[kind] += request.sizes()["responseBodySize"]
        page.context.close()
        return {kind: round(size / 1000, 1) for kind, size in sorted(sizes.items())}

    def opens(self, path: str) -> float:
        """Ms from the request until the page is drawn."""
        page = self.come(in_page("stands"))
        page.goto(self.address + path)
        page.wait_for_function("() => window.stands")
        took = page.evaluate("stands")
        page.context.close()
        return float(took)

    def scrubs(self, path: str, seconds: float) -> dict[str, list[float]]:
        page = self.come()
        page.goto(self.address + path)
        page.wait_for_selector("#replay:not([hidden])")
        page.locator("#race").scroll_into_view_if_needed()
        found = page.evaluate(in_page("scrub"), seconds)
        page.context.close()
        return dict(found)


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    with place() as folder:
        from benchmarks._filling import fill
        from benchmarks._sessions import session_of

        world, things = fill(0)
        done = things["comparison"]
        live = launch_another(world, done)
        session = session_of(world.bob)
        with serving(folder) as up, chromium() as browser:
            visitor = Visitor(browser, up.address, session)
            at, at_live = (f"/comparisons/{each.pk}/" for each in (done, live))
            visitor.opens(at)  # the first visit after a start makes the report
            opened = [visitor.opens(at) for _ in range(asked.times)]
            scrubbed = visitor.scrubs(at, asked.seconds)
            return {
                "load": load(),
                "weight_kb": {"live": visitor.weight(at_live), "finished": visitor.weight(at)},
                "open_ms": {"least": round(min(opened)), "median": round(statistics.median(opened))},
                "scrub_ms": {name: spread(values) for name, values in scrubbed.items()},
            }


def launch_another(world: Any, like: Any) -> Any:
    """Launch the same comparison, to open while it waits."""
    from webapp.comparisons import services
    from webapp.comparisons.specs import specify

    strategies = [{"strategy": run.strategy, "params": run.params} for run in like.runs.all()]
    spec = specify(pair=like.pair, dataset=like.dataset, strategies=strategies, repeats=100)
    return services.launch(name="live", spec=spec, by=world.actor(world.alice))


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": 0.5, "p95": 0.95, "worst": 0.9999}
    return {"count": len(ordered), **{name: round(ordered[int(len(ordered) * part)], 1) for name, part in at.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench opening", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=5, help="seconds of scrubbing")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = measured(asked)
    print(json.dumps(found, indent=1))
    weighs = sum(kb for kind, kb in found["weight_kb"]["live"].items() if kind != "echarts")
    is_good = [
        verdict("kB of the live page", weighs, WEIGHT_KB),
        verdict("ms until a finished comparison stands, median", found["open_ms"]["median"], OPEN_MS),
        verdict("ms between two frames while scrubbing, p95", found["scrub_ms"]["apart"]["p95"], FRAME_MS),
    ]
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(not all(is_good))


if __name__ == "__main__":
    sys.exit(main())

"""Measure the memory of a comparison's page that is watched for an hour, minute by minute.

    ./drafthouse bench hour [--minutes 60] [--events 400] [--trace FILE] [--json FILE]

Records the starter pair first (or reads `./drafthouse compare --trace FILE`) and replays it again and again, with the
recorded gaps between rounds, scaled to `--events` per second, as on a quiet machine. Events go through worker code,
database, web server and socket to a Chromium, which scrolls on each minute: to the race, the text, the charts of
rounds, the evidence, and again. `samples` is how many the page shows as done.

The figure is the page process's proportional set size: its own memory plus its share of shared memory. `program` is
unmodified memory mapped from Chromium's own files, which even an empty page has. `page` is the rest: scripts, elements,
layout, pictures, garbage. The bar applies to the sum of both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks._browser import Unheard, held_mib, renderer, sign_in
from benchmarks._played import Played, Say, enter, numbers_of
from benchmarks._serving import load, verdict
from benchmarks.live import seconds_of
from decoding.choice import parse_choices
from decoding.strategies import BASELINE
from decoding.trace.events import Event, from_dict
from tests.kit.up import Up
from tests.kit.up import until as wait

ROOT = Path(__file__).parents[1]
PROMPTS = ROOT / "starter" / "prompts" / "code.jsonl"
STRATEGIES = "static:2,static:4,threshold,ssd:4"
RECORDED = 16  # prompts
REPEATS = 10  # of hundreds of prompts: more than fit in an hour
MEMORY_MIB = 200.0
LOOKED_AT = ("#race", "#strip", "#lines", "#forest")

Recorded = dict[str, list[list[Event]]]  # label → each prompt's events


def record(to: Path) -> None:
    command = [ROOT / "drafthouse", "compare", "--prompts", PROMPTS, "--split", "test", "--limit", str(RECORDED),
               "--strategies", STRATEGIES, "--threads", "1", "--trace", to]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read(path: Path) -> Recorded:
    texts: dict[tuple[str, str], list[Event]] = {}
    for line in path.read_text().splitlines():
        event = json.loads(line)
        texts.setdefault((event.pop("strategy"), event.pop("prompt")), []).append(
            from_dict({name: value for name, value in event.items() if name != "repeat"})
        )
    found: Recorded = {}
    for (label, _), events in texts.items():
        found.setdefault(label, []).append(events)
    return found


def over_ns(event: Event) -> int:
    """Time of an event on its sample's clock."""
    return int(getattr(event, "end_ns", None) or event.prefill_ns)  # type: ignore[union-attr]


def pace(recorded: Recorded, events_per_s: float) -> float:
    """Factor by which the replay must be faster than the recording."""
    samples = [events for texts in recorded.values() for events in texts]
    return events_per_s * sum(over_ns(events[-1]) for events in samples) / 1e9 / sum(map(len, samples))


def tell(order: Any, recorded: Recorded, faster: float, until: float, say: Say) -> None:
    """Play the order's samples instead of the engine, one after another, until the time is over."""
    from tokenizers import Tokenizer

    from decoding.measure.schedule import SampleKey
    from worker.jobs.comparison.messages import SampleDecoded
    from worker.jobs.comparison.tracing import Tracing, which

    texts = {label: cycle(samples) for label, samples in recorded.items()}
    words = Tokenizer.from_file(str(ROOT / "starter" / "pair" / "target" / "tokenizer.json"))
    keys = (SampleKey(choice, prompt, repeat) for repeat in range(order.repeats)
            for prompt in order.prompts for choice in order.choices)  # fmt: skip
    begun = time.monotonic()
    with Tracing(say, lambda tokens: words.decode(list(tokens))) as tracing:
        for key in keys:
            sink, events = tracing.sink_for(key), next(texts[key.choice.label])
            for event in events:
                time.sleep(max(0.0, begun + over_ns(event) / 1e9 / faster - time.monotonic()))
                sink.emit(event)
            begun = max(time.monotonic(), begun + over_ns(events[-1]) / 1e9 / faster)
            say(SampleDecoded(numbers_of(events, key, events[-1].new_tokens), tracing.finish(which(key))))
            if begun > until:
                break
    say(None)


def watched(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if not asked.trace:
        record(trace := folder / "trace.jsonl")
    recorded = read(asked.trace or trace)
    faster = pace(recorded, asked.events)
    up = Up(folder / "data", "--workers", "0").wait()
    enter(up)
    hands = ThreadPoolExecutor(1)  # Django must not meet Playwright's event loop
    strategies = [{"strategy": choice.strategy, "params": choice.params}
                  for label in recorded for choice in parse_choices(label) if label != BASELINE]  # fmt: skip
    comparison = hands.submit(Played, strategies, REPEATS).result()
    browser = Unheard(folder)
    try:
        process, floor = opened(browser, up, f"{up.address}/comparisons/{comparison.row.pk}/")
        until = time.monotonic() + 60 * asked.minutes
        telling = hands.submit(comparison.run, lambda order, say: tell(order, recorded, faster, until, say))
        minutes = [*counted(browser, process, up.pid_of("supervisor.web"), until, telling.done)]
        telling.result()
    finally:
        browser.end()
        up.interrupt()
    return {"load": load(), "faster_than_recorded": round(faster, 2), "empty_page": floor, "minutes": minutes}


def opened(browser: Unheard, up: Up, address: str) -> tuple[int, dict[str, float]]:
    """Return the process of the page, once it is live, and its memory while empty."""
    with browser.attached() as page:
        page.goto("about:blank")
        floor = rounded(held_mib(renderer(page)))
        sign_in(page, up.said.split("half an hour: ")[-1].split()[0])
        process = renderer(page)  # which serves every page of this server
    browser.ask("Page.navigate", url=address)
    wait(lambda: browser.value("document.querySelector('#mode[data-mode=live]') !== null"), "the page to be live")
    return process, floor


def counted(
    browser: Unheard, process: int, web: int | None, until: float, is_over: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Yield one record per minute, until all is played."""
    begun, looked_at = time.monotonic(), cycle(LOOKED_AT)
    while not is_over():
        browser.value(f"document.querySelector('{(part := next(looked_at))}').scrollIntoView({{block: 'center'}})")
        time.sleep(min(60.0, 1 + max(0.0, until - time.monotonic())))
        held = rounded(held_mib(process))
        minute = {
            "looked_at": part,
            "minute": round((time.monotonic() - begun) / 60, 1),
            "mib": round(sum(held.values()), 1),
            **held,
            "samples": int(browser.value("document.querySelector('#done').textContent").split()[0]),
            "heap": round(browser.ask("Runtime.getHeapUsage")["usedSize"] / 2**20, 1),
            "page_cpu_s": round(seconds_of(process), 1),
            "web_cpu_s": round(seconds_of(web), 1),
        }
        print(json.dumps(minute), flush=True)
        yield minute


def rounded(held: dict[str, float]) -> dict[str, float]:
    return {name: round(mib, 1) for name, mib in held.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench hour", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--events", type=float, default=400, help="events per second, on average")
    parser.add_argument("--trace", type=Path, help="written by `./drafthouse compare --trace`")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh-hour-") as folder:
        found = watched(asked, Path(folder))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    most = max(found["minutes"], key=lambda minute: minute["mib"])
    print(f"empty page: {found['empty_page']}; told {found['faster_than_recorded']} times as fast as recorded")
    return int(not verdict(f"MiB of the page's process at most, in minute {most['minute']}", most["mib"], MEMORY_MIB))


if __name__ == "__main__":
    sys.exit(main())

"""Measure how soon many watchers see a round: 50 watch one comparison with 1,000 events per second.

    ./drafthouse bench live [--watchers 50] [--events 1000] [--seconds 20] [--json FILE]

The service is real: Valkey, web server, scheduler. A player replaces the model and makes rounds on schedule; from there
everything works as in a worker: collect, store, nudge, read, send. One watcher is a Chromium, which notes when a lane's
numbers were on the screen; the others are sockets that note every seq. All of it runs on this machine, watchers too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import _watchers
from benchmarks._browser import chromium, clock_offset_ns, cookie, in_page, renderer, signed_in
from benchmarks._played import Played, Say, enter, numbers_of
from decoding.trace.events import Drafted, Event, Finished, Started, Verified
from tests.kit.up import Up

LATE_MS = 250.0
ROUNDS = 300  # per sample; two events each
STRATEGIES = [{"strategy": "static", "params": {"lookahead": 4}}, {"strategy": "threshold"}]
SampleId = tuple[str, str, int]


@dataclass
class Emitted:
    """For each sample, when each event was finished, and how many tokens the text then had."""

    at_ns: dict[SampleId, list[int]] = field(default_factory=dict)
    tokens: dict[SampleId, list[int]] = field(default_factory=dict)
    late_ms: float = 0.0  # most that the player was behind schedule


def made_up(dice: random.Random) -> Iterator[Event]:
    """Make up a sample's events, as of a pair that agrees three times in four."""
    now, written = 900_000, 0
    yield Started(20, now)
    for number in range(1, ROUNDS + 1):
        drafted = tuple(dice.randrange(4096) for _ in range(4))
        accepted = next((k for k in range(4) if dice.random() > 0.75), 4)
        sure = tuple(round(dice.random(), 4) for _ in drafted)
        start, now = now, now + 1_000_000
        yield Drafted(number, written, 4, drafted, sure, (), "limit", "fresh", 4, start, now)
        start, now = now, now + 1_000_000
        outcome = "bonus" if accepted == 4 else "correction"
        yield Verified(number, accepted, dice.randrange(4096), outcome, 0, start, now)
        written += accepted + 1
    yield Finished("length", written, now)


def decode(order: Any, events_per_s: float, seconds: float, say: Say, emitted: Emitted) -> None:
    """Play the order's samples instead of the engine, one after another, until the time is over."""
    from decoding.measure.schedule import SampleKey
    from worker.jobs.comparison.messages import SampleDecoded
    from worker.jobs.comparison.tracing import Tracing, which

    dice, due = random.Random(1), time.perf_counter()
    end = due + seconds
    with Tracing(say, lambda tokens: f" w{tokens[0]}") as tracing:
        for key in (SampleKey(choice, prompt, 0) for prompt in order.prompts for choice in order.choices):
            at = emitted.at_ns[which(key)] = []
            tokens = emitted.tokens[which(key)] = []
            sink, events = tracing.sink_for(key), list(made_up(dice))
            for event in events:
                due += 1 / events_per_s
                time.sleep(max(0.0, due - time.perf_counter()))
                emitted.late_ms = max(emitted.late_ms, (time.perf_counter() - due) * 1e3)
                at.append(time.perf_counter_ns())
                sink.emit(event)
                more = event.accepted + 1 if isinstance(event, Verified) else 0
                tokens.append((tokens[-1] if tokens else 0) + more)
            say(SampleDecoded(numbers_of(events, key, tokens[-1]), tracing.finish(which(key))))
            if time.perf_counter() > end:
                break
    say(None)


class Comparison(Played):
    """Comparison that knows when each event was finished."""

    def __init__(self) -> None:
        super().__init__(STRATEGIES)
        self.emitted = Emitted()

    def decode(self, events_per_s: float, seconds: float) -> None:
        self.run(lambda order, say: decode(order, events_per_s, seconds, say, self.emitted))

    # ---- results

    def heard(self, watcher: Any) -> tuple[int, list[float]]:
        """Count events missing at a watcher, and measure how late each was, in ms."""
        seqs, at_ns, *_ = watcher
        missing = 0
        late = []
        for sample, which in self.samples.items():
            emitted, told = self.emitted.at_ns[which], seqs.get(sample, [])
            missing += len(set(range(1, len(emitted) + 1)) - set(told))
            late += [(now - emitted[seq - 1]) / 1e6 for seq, now in zip(told, at_ns.get(sample, []), strict=True)]
        return missing, late

    def drawn(self, rows: list[list[float]], offset_ns: int) -> tuple[list[float], int]:
        """Measure how late each round was on the screen, in ms, and count those that never were, because a later one
        replaced them."""
        seen: dict[SampleId, list[tuple[int, float]]] = {}
        for heat, run, tokens, now in rows:
            which = (self.runs[int(run)], self.prompts[int(heat) - 1], 0)
            seen.setdefault(which, []).append((int(tokens), now * 1e6 + offset_ns))
        late, never = [], 0
        for which in self.samples.values():
            steps = sorted(seen.get(which, []))
            counts = [tokens for tokens, _ in steps]
            before = 0
            for tokens, at in zip(self.emitted.tokens[which], self.emitted.at_ns[which], strict=True):
                if tokens == before:
                    continue  # no round ended with it
                before = tokens
                first = bisect_left(counts, tokens)
                if first == len(steps):
                    never += 1
                else:
                    late.append((min(now for _, now in steps[first:]) - at) / 1e6)
        return late, never


def watched(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    up = Up(folder / "data", "--workers", "0").wait(300)
    enter(up)
    hands = ThreadPoolExecutor(1)  # Django must not meet Playwright's event loop
    comparison = hands.submit(Comparison).result()
    try:
        with chromium() as browser:
            context = signed_in(browser, up.said.split("half an hour: ")[-1].split()[0])
            page = context.new_page()
            page.goto(f"{up.address}/comparisons/{comparison.row.pk}/")
            page.wait_for_selector("#mode[data-mode=live]")
            page.evaluate(in_page("drawn"))
            offset = clock_offset_ns(page)
            line, end = multiprocessing.Pipe()
            address = f"{up.address.replace('http', 'ws')}/ws/comparisons/{comparison.row.pk}/"
            others = multiprocessing.get_context("spawn").Process(
                target=_watchers.watch, args=(address, cookie(context), asked.watchers - 1, end)
            )
            others.start()
            end.close()  # so that nobody waits for a dead process
            assert line.recv() == "ready"
            pids = up.pid_of("supervisor.web"), renderer(page)
            before = clocks(pids)
            hands.submit(comparison.decode, asked.events, asked.seconds).result()
            web, drawing, wall = (now - then for now, then in zip(clocks(pids), before, strict=True))
            heard = [comparison.heard(each) for each in line.recv()]
            page.wait_for_selector("#mode[data-mode=finished]")
            late, never = comparison.drawn(page.evaluate("drawn"), offset)
            others.join()
    finally:
        up.interrupt()
    events = sum(len(at) for at in comparison.emitted.at_ns.values())
    return {
        "watchers": asked.watchers,
        "events": events,
        "events_per_s": round(events / wall),
        "missing": sum(missing for missing, _ in heard),
        "socket_ms": spread([each for _, late in heard for each in late]),
        "drawn_ms": spread(late),
        "rounds_drawn": len(late),
        "rounds_passed_over": never,
        "web_cpu_share": round(web / wall, 2),
        "cpu_s_per_1000": {"web": round(1000 * web / events, 3), "page": round(1000 * drawing / events, 3)},
        "pace_behind_ms": round(comparison.emitted.late_ms),
    }


def clocks(pids: Iterable[int | None]) -> list[float]:
    """Processor time of each process so far, and the time."""
    return [*map(seconds_of, pids), time.perf_counter()]


def seconds_of(pid: int | None) -> float:
    """Processor seconds of a process so far."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {name: round(ordered[int(len(ordered) * part)], 1) for name, part in
            (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("worst", 0.999999))}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--events", type=float, default=1000, help="events per second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh-live-") as folder:
        found = watched(asked, Path(folder))
    print(json.dumps(found, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(found["missing"] or found["drawn_ms"]["p95"] > LATE_MS)


if __name__ == "__main__":
    sys.exit(main())

import io
from typing import Any

from decoding.strategies import STRATEGIES
from tests.kit.terminal import ROOT, read
from worker.messages import JobProgress
from worker.terminal.progress import ProgressLines, duration
from worker.terminal.table import Palette, palette_for, result

ALONE = "autoregressive"
REPORT = read(ROOT / "tests" / "golden" / "rest.json")["report/"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(*rows: dict[str, Any], users: int = 1, **more: Any) -> list[str]:
    baseline = more.get("baseline", ALONE)
    load = {"concurrency": users, "rate": None, "baseline": f"{baseline} @8" if users > 1 else baseline}
    shown = {**REPORT, "verdict": "static:4 is faster.", "doubt": "", "strategies": rows, "loads": [load], **more}
    return result(shown, Palette(is_coloured=False)).splitlines()


def gain(ratio: float, low: float | None, high: float | None, prompts: int = 24) -> dict[str, Any]:
    return {"ratio": ratio, "low": low, "high": high, "prompts": prompts}


def row(label: str, **more: Any) -> dict[str, Any]:
    slug = label.partition(" ")[0].partition(":")[0]
    audit = {"identical": 24, "tie": 0, "divergent": 0, "not_compared": 0}
    of = {"strategy": slug, "label": label, "role": STRATEGIES[slug].role, "samples": [{"repeat": 0}] * 24}
    return {**REPORT["strategies"][0], **of, "speedup": gain(1.0, 1.0, 1.0), "audit": audit, **more}


def way_to(speed: float) -> dict[str, Any]:
    return {"bound": 2 * speed, "steps": [{"title": "draft price", "from": 2 * speed, "to": speed}], "measured": speed}


def test_the_verdict_comes_first_and_then_a_row_for_each_strategy() -> None:
    fast = row(
        "static:4",
        tokens_per_s=371.0,
        speedup=gain(1.62, 1.55, 1.7),
        end_to_end=gain(1.41, 1.3, 1.5),
        tokens_per_round=3.1,
        draft_acceptance_rate=0.525,
        draft_share=0.28,
        verify_share=0.7,
        audit={"identical": 22, "tie": 2, "divergent": 0, "not_compared": 0},
        why=way_to(100.0),
    )
    lost = row("ssd:4", speedup=gain(1.5, None, None, 5), lost={"It hung up.": 2}, captures=3, why=way_to(99.5))
    told = lines(row(ALONE), fast, lost, row("oracle:32"), row("assisted:20"), doubt="All is settled.", noise="40 %.")
    assert told[:3] == ["static:4 is faster.", "All is settled.", ""]
    heading = "strategy tokens/s speed-up end to end per round accepted drafting verifying audit"
    assert " ".join(told[3].split()) == heading
    assert " ".join(told[5].split()) == (
        "■ static:4 371.0 1.62 (1.55 to 1.70) 1.41 3.10 52 % 28 % 70 % 22 identical, 2 tie"
    )
    assert "1.50 (5 prompts)" in told[6]
    assert "ssd:4 lost its draft on 2 of 24 samples: It hung up." in told
    assert "ssd:4 recorded 3 CUDA graphs in time that counts." in told
    assert "static:4, why not faster: bound 200 · draft price -100 · measured 100 tokens/s" in told
    assert "ssd:4, why not faster: bound 199.0 · draft price -99.5 · measured 99.5 tokens/s" in told
    assert "oracle:32 is a bound: it knows what no real strategy can know, and is not ranked" in told
    assert "assisted:20 is the transformers library on the same weights" in told
    assert not any(line.startswith((f"{ALONE} lost", f"{ALONE} recorded")) for line in told)
    assert told[-1] == "Noisy: 40 %."
    told = lines(row(ALONE, speedup=gain(0.62, 0.59, 0.64)), row("static:4"), baseline="static:4")
    assert [line.split()[3] for line in told[3:5]] == ["0.62", "1"]  # what they are relative to has no interval


def test_colours_are_for_terminals_that_have_them() -> None:
    for stream, environment, mark in (
        (Terminal(), {"TERM": "xterm-256color"}, "\x1b[38;5;25m■\x1b[0m"),
        (Terminal(), {"TERM": "xterm-256color", "NO_COLOR": "1"}, "■"),
        (Terminal(), {"TERM": "dumb"}, "■"),
        (io.StringIO(), {"TERM": "xterm-256color"}, "■"),
    ):
        assert palette_for(stream, environment).mark("static") == mark
    assert len({strategy.looks.glyph for strategy in STRATEGIES.values()}) == len(STRATEGIES)


def loaded(label: str, **more: Any) -> dict[str, Any]:
    percentiles = {"queued": (3, 9), "e2e": (400, 900), "ttft": (40, 120), "tpot": (18, 21), "gap": (40, 120)}
    times = {f"{name}_ms": {"p50": p50, "p95": p95, "p99": 150} for name, (p50, p95) in percentiles.items()}
    goodput = {"share": 0.9, "low": 0.74, "high": 0.97, "tokens_per_s_device": 398.1}
    speeds = {"tokens_per_s_device": 412.2, "tokens_per_s_user": 51.5, "goodput": goodput}
    return row(f"{label} @8", concurrency=8, **times, **speeds, **{"samples": [{"repeat": 0}], **more})


def test_under_load_the_table_has_latency_and_goodput_and_the_same_notes_below_it() -> None:
    hits = {"hit_rate": 0.8, "predicted_hit_rate": 0.75, "hidden_share": 0.5, "prepared_branches": 2.96}
    ssd = loaded("ssd:4", **hits, price={"sentence": "its price"}, lost={"The draft hung up.": 1})
    told = lines(loaded(ALONE), loaded("static:4"), ssd, users=8, objective={"ttft_ms": 500.0})
    assert "tok/s/device  tok/s/user" in told[2]
    shown = "3.00 / 9.00 ms  40.0 / 120 ms  18.0 / 21.0 ms  150 ms  400 / 900 ms"
    assert f"412.2        51.5  1.00 (1.00 to 1.00)  {shown}  90 % (74 % to 97 %), 398.1  24 identical" in told[4]
    assert {
        "goodput: requests within ttft 500 ms, and their tok/s/device",
        "ssd:4 @8 had prepared for 80.0 % of the outcomes (75.0 % expected) with 3.0 branches; "
        "50 % of its drafting was hidden",
        "ssd:4 @8 lost its draft on 1 of 1 samples: The draft hung up.",
        "ssd:4 @8: its price",
    } <= set(told)


class Time:
    s = 0.0

    def __call__(self) -> float:
        return self.s


def test_a_phase_has_a_line_for_its_first_step_its_last_and_now_and_then_with_the_time_that_is_left() -> None:
    lines = ProgressLines(stream := io.StringIO(), time := Time())
    for done in (1, 2, 3):  # 10 came from an earlier run
        lines.show(JobProgress("recording", done, 3, whole=(10 + done, 53), is_counted=True))
        time.s += 4.0
    for done in range(31):
        lines.show(JobProgress("decoding", done, 30))
        time.s += 1.0
    assert stream.getvalue().splitlines() == [
        "recording: 1/3",
        "recording: 3/3, about 2 min 40 s left",
        *(f"decoding: {done}/30" for done in (0, 10, 20, 30)),
    ]
    assert [duration(s) for s in (0.4, 59.6, 200, 7500)] == ["0 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]


def test_on_a_terminal_each_phase_keeps_its_line() -> None:
    lines = ProgressLines(stream := Terminal())
    for phase in ("recording", "confirming"):
        lines.show(JobProgress(phase, 1, 2))
        lines.show(JobProgress(phase, 2, 2))
    lines.close()
    half, full = f"\r\x1b[K{'█' * 12}{'░' * 12} ", f"\r\x1b[K{'█' * 24} "
    first, second, rest = stream.getvalue().split("\n")
    assert first == f"{half}recording: 1/2{full}recording: 2/2"
    assert (second, rest) == (f"{half}confirming: 1/2{full}confirming: 2/2", "")

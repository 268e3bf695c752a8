import io
from typing import Any

import pytest

from decoding.strategies import STRATEGIES
from worker.terminal.table import Palette, palette_for, result

ALONE = "autoregressive"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def document(*rows: dict[str, Any], verdict: str = "", baseline: str = ALONE, sentence: str = "") -> dict[str, Any]:
    return {
        "verdict": verdict,
        "baseline": baseline,
        "strategies": rows,
        "doubt": sentence,
        "loads": [{"concurrency": 1, "rate": None, "baseline": baseline}],
        "objective": {},
        "warnings": [],
    }


def row(label: str, **more: Any) -> dict[str, Any]:
    slug = label.partition(" ")[0].partition(":")[0]
    return {
        "strategy": slug,
        "label": label,
        "role": STRATEGIES[slug].role,
        "params": {"memory": "memory" in label},
        "concurrency": 1,
        "rate": None,
        "tokens_per_s": 229.06,
        "speedup": {"ratio": 1.0, "low": 1.0, "high": 1.0, "prompts": 24},
        "end_to_end": {"ratio": 1.0, "low": 1.0, "high": 1.0, "prompts": 24},
        "break_even_tokens": None,
        "tokens_per_round": 1.0,
        "draft_acceptance_rate": None,
        "draft_share": 0.0,
        "verify_share": 0.98,
        "audit": {"identical": 24, "tie": 0, "divergent": 0, "not_compared": 0},
        "why": {"steps": []},
        "samples": [{"repeat": 0}] * 24,
        **more,
    }


def test_the_verdict_comes_first_and_then_a_row_for_each_strategy() -> None:
    fast = row(
        "static:4",
        tokens_per_s=371.0,
        speedup={"ratio": 1.62, "low": 1.55, "high": 1.7, "prompts": 24},
        end_to_end={"ratio": 1.41, "low": 1.3, "high": 1.5, "prompts": 24},
        break_even_tokens=8.2,
        tokens_per_round=3.1,
        draft_acceptance_rate=0.525,
        draft_share=0.28,
        verify_share=0.7,
        audit={"identical": 22, "tie": 2, "divergent": 0, "not_compared": 0},
    )
    shown = document(row("autoregressive"), fast, verdict="static:4 is faster.", sentence="All is settled.")
    assert result(shown, Palette(is_coloured=False)).splitlines()[:6] == [
        "static:4 is faster.",
        "All is settled.",
        "",
        "  strategy        tokens/s  speed-up             end to end          "
        "per round  accepted  drafting  verifying  audit",
        "● autoregressive     229.1  1                    1                      "
        "  1.00         –       0 %       98 %  "
        "24 identical",
        "■ static:4           371.0  1.62 (1.55 to 1.70)  1.41 from 8 tokens     "
        "  3.10      52 %      28 %       70 %  "
        "22 identical, 2 tie",
    ]


def test_what_the_others_are_relative_to_has_no_interval_of_its_own() -> None:
    alone = row("autoregressive", speedup={"ratio": 0.62, "low": 0.59, "high": 0.64, "prompts": 24})
    text = result(document(alone, row("static:4"), baseline="static:4"), Palette(is_coloured=False))
    assert [line.split()[3] for line in text.splitlines()[3:5]] == ["0.62", "1"]
    assert "static:4's total decoding time over the strategy's" in text and "autoregressive's total" not in text
    noisy = result(document(alone) | {"noise": "40 %."}, Palette(is_coloured=False))
    assert "Noisy" not in text and noisy.splitlines()[-1] == "Noisy: 40 %."


def test_a_lost_draft_captures_a_bound_and_a_peer_are_told_of_their_rows_alone() -> None:
    lost = row("ssd:4", lost={"The draft's process hung up. The target went on alone.": 2}, captures=3)
    text = result(document(row(ALONE), lost, row("oracle:32"), row("assisted:20")), Palette(is_coloured=False))
    told = text.splitlines()[8:]
    assert "ssd:4 lost its draft on 2 of 24 samples: The draft's process hung up. The target went on alone." in told
    assert "ssd:4 recorded 3 CUDA graphs in time that counts." in told
    assert "oracle:32 is a bound: it knows what no real strategy can know, and is not ranked" in text
    assert "assisted:20 is the transformers library on the same weights" in text
    assert ALONE + " lost" not in text and ALONE + " recorded" not in text


@pytest.mark.parametrize(("prompts", "told"), [(1, "a single prompt"), (5, "5 prompts")])
def test_few_prompts_are_told_instead_of_an_interval(prompts: int, told: str) -> None:
    lonely = row("static:4", speedup={"ratio": 1.5, "low": None, "high": None, "prompts": prompts})
    assert f"1.50 ({told})" in result(document(lonely), Palette(is_coloured=False))


@pytest.mark.parametrize(
    ("stream", "environment", "is_coloured"),
    [
        (Terminal(), {"TERM": "xterm-256color"}, True),
        (Terminal(), {"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm-256color"}, False),
    ],
)
def test_colours_are_for_terminals_that_have_them(stream, environment, is_coloured):
    assert palette_for(stream, environment).is_coloured is is_coloured
    assert (
        "\x1b[38;5;25m■\x1b[0m" in result(document(row("static:4")), palette_for(stream, environment))
    ) is is_coloured


def times(p50: float, p95: float, p99: float = 0.0) -> dict[str, Any]:
    return {"p50": p50, "p95": p95, "p99": p99}


def loaded(label: str, **more: Any) -> dict[str, Any]:
    return row(
        f"{label} @8",
        concurrency=8,
        tokens_per_s_device=412.2,
        tokens_per_s_user=51.5,
        queued_ms=times(3, 9),
        e2e_ms=times(400, 900),
        ttft_ms=times(40, 120),
        tpot_ms=times(18, 21),
        gap_ms=times(40, 120, 150),
        goodput={"share": 0.9, "low": 0.74, "high": 0.97, "tokens_per_s_device": 398.1},
        samples=[{"repeat": 0}],
        **more,
    )


def lines_under_load(*rows: dict[str, Any], **objective: float) -> list[str]:
    shown = document(*rows) | {"objective": objective}
    shown["loads"] = [{"concurrency": 8, "rate": row["rate"], "baseline": f"{ALONE} @8"} for row in rows]
    return result(shown, Palette(is_coloured=False)).splitlines()


def test_under_load_the_table_has_a_row_for_each_load_with_latency_and_goodput() -> None:
    lines = lines_under_load(loaded(ALONE), loaded("static:4"), ttft_ms=500.0)
    assert "tok/s/device  tok/s/user" in lines[2]
    times_shown = "3.00 / 9.00 ms  40.0 / 120 ms  18.0 / 21.0 ms  150 ms  400 / 900 ms"
    assert (
        f"412.2        51.5  1.00 (1.00 to 1.00)  {times_shown}  90 % (74 % to 97 %), 398.1  24 identical" in lines[4]
    )
    assert "goodput: requests within ttft 500 ms, and their tok/s/device" in lines


def test_what_is_told_below_the_table_of_one_user_is_told_under_load_too() -> None:
    hits = {"hit_rate": 0.8, "predicted_hit_rate": 0.75, "hidden_share": 0.5, "prepared_branches": 2.96}
    told = {name: {"sentence": f"its {name}"} for name in ("backups", "price", "drift")}
    lines = lines_under_load(loaded(ALONE), loaded("ssd:4", **hits, **told, lost={"The draft hung up.": 1}))
    assert {
        "ssd:4 @8 had prepared for 80.0 % of the outcomes (75.0 % expected) with 3.0 branches; "
        "50 % of its drafting was hidden",
        "ssd:4 @8: its backups",
        "ssd:4 @8 lost its draft on 1 of 1 samples: The draft hung up.",
        "ssd:4 @8: its price",
        "ssd:4 @8: its drift",
    } <= set(lines)


def test_no_two_strategies_share_a_mark() -> None:
    assert len({strategy.looks.glyph for strategy in STRATEGIES.values()}) == len(STRATEGIES)

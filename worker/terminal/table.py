"""The result as a person reads it: the verdict in one sentence, then one row per strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from decoding.choice import Choice
from decoding.measure.summary import so_few
from decoding.strategies import STRATEGIES
from decoding.words import ms, percent

TO_THE_LEFT = {"strategy", "speed-up", "end to end", "audit"}
BOUND = "is a bound: it knows what no real strategy can know, and is not ranked"

Columns = Mapping[str, Callable[[Mapping[str, Any], str], str]]  # by heading: a row's cell, given the baseline's label


class Palette:
    """The colour and the mark of each strategy, as on the page: Okabe-Ito, which colour-blind eyes can tell apart."""

    def __init__(self, is_coloured: bool) -> None:
        self.is_coloured = is_coloured

    def mark(self, strategy: str) -> str:
        looks = STRATEGIES[strategy].looks
        return looks.glyph if looks.terminal is None else self._paint(looks.glyph, f"38;5;{looks.terminal}")

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def dim(self, text: str) -> str:
        return self._paint(text, "2")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_coloured else text


def palette_for(stream: TextIO, environment: Mapping[str, str]) -> Palette:
    """Colours on a terminal that has them, unless NO_COLOR asks for none (no-color.org)."""
    return Palette(stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")


def result(document: Mapping[str, Any], palette: Palette) -> str:
    strategies = document["strategies"]
    baseline = document["baseline"]
    lines = [palette.bold(document["verdict"]), *_under(document), ""]
    if is_loaded(strategies):
        lines += [*_table(strategies, AT_LOAD, document["loads"], palette), ""]
        lines += [palette.dim(note) for note in load_notes(document)]
    else:
        lines += [*_table(strategies, FOR_ONE, document["loads"], palette), ""]
        lines += [palette.dim(note) for note in notes(baseline)]
    explained = (_why(row) for row in strategies if row["why"]["steps"])
    more = (
        *run_notes(strategies),
        *explained,
        *remarks(strategies),
        *turn_notes(strategies),
    )
    lines += [palette.dim(note) for note in more]
    if noise := document.get("noise"):
        lines += ["", f"Noisy: {noise}"]
    return "\n".join(lines)


def _under(document: Mapping[str, Any]) -> list[str]:
    """Lines that belong to the verdict: its doubt, and warnings."""
    return [line for line in (document["doubt"], *document["warnings"]) if line]


def notes(baseline: str) -> list[str]:
    """Notes that a reader needs to read the table right."""
    return [
        f"speed-up: {baseline}'s total decoding time over the strategy's; the 95 % intervals hold all at once",
        "end to end: the same with the time to read the prompt, and the output length from which it is a gain",
        "per round: tokens per pass of the target · accepted: share of the drafted tokens",
        "drafting, verifying: shares of the decoding time",
    ]


def run_notes(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Hits, lost drafts and prices of each strategy that has them, under load too."""
    return [
        *(_hits(row) for row in strategies if row.get("hit_rate") is not None),
        *(f"{row['label']} {lost}" for row in strategies for lost in _lost(row)),
        *(f"{row['label']} differs by a tie in {row['tie_in']}" for row in strategies if row.get("tie_in")),
        *(
            f"{row['label']} recorded {row['captures']} CUDA graphs in time that counts."
            for row in strategies
            if row.get("captures")
        ),
        *(f"{row['label']}: {row['price']['sentence']}" for row in strategies if row.get("price")),
    ]


def remarks(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{row['label']} {remark}" for row in strategies if (remark := _remark(row))]


def _why(row: Mapping[str, Any]) -> str:
    """The way from the bound to the measured speed, in one line; under load on to the queue."""
    why, digits = row["why"], 0 if row["why"]["measured"] >= 100 else 1
    steps = [f"{step['title']} {step['to'] - step['from']:+.{digits}f}" for step in why["steps"]]
    way = [f"bound {why['bound']:.{digits}f}", *steps, f"measured {why['measured']:.{digits}f} tokens/s"]
    if is_loaded([row]):
        way += [f"with the prompt {why['with_prompt']:.{digits}f}", f"and the queue {why['end_to_end']:.{digits}f}"]
    return f"{row['label']}, why not faster: {' · '.join(way)}"


def is_loaded(strategies: Sequence[Mapping[str, Any]]) -> bool:
    return any(row["rate"] or row["concurrency"] > 1 for row in strategies)


def load_notes(document: Mapping[str, Any]) -> list[str]:
    promise = ", ".join(f"{name.removesuffix('_ms')} {value:g} ms" for name, value in document["objective"].items())
    return [
        "@8: 8 users, each asks again when answered · @2/s: 2 requests a second, at random times or as recorded",
        f"speed-up: of whole requests' times, relative to {document['baseline']} at the same load; of one user, of "
        "decoding alone; the 95 % intervals of all loads hold at once",
        "p50 / p95: in the queue · first token, from arrival · per token after the first · end to end, from arrival; "
        "gap: between deliveries, p99",
        f"goodput: requests within {promise}, and their tok/s/device"
        if promise
        else "goodput: --slo counts requests that keep a promise",
    ]


def turn_notes(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Speed-ups of each turn, where conversations have several."""
    found = []
    for row in strategies:
        gains = [(turn["turn"], turn["speedup"]) for turn in row.get("by_turn", []) if turn["speedup"]]
        if gains and row["role"] != "baseline":
            turns = ", ".join(f"turn {number} {gain['ratio']:.2f}" for number, gain in gains)
            found.append(f"{row['label']} by turn: {turns}; above, a conversation counts as one prompt")
    return found


def _goodput(found: Mapping[str, float]) -> str:
    known = found["low"] is not None
    doubt = f" ({percent(found['low'])} to {percent(found['high'])})" if known else ""
    return f"{percent(found['share'])}{doubt}, {found['tokens_per_s_device']:.1f}"


def _two(found: Mapping[str, float]) -> str:
    return f"{ms(found['p50'])} / {ms(found['p95'])} ms"


def _remark(row: Mapping[str, Any]) -> str:
    if row["role"] == "bound":
        return BOUND
    return Choice.of(row).remark


def _hits(row: Mapping[str, Any]) -> str:
    branches = f" with {row['prepared_branches']:.1f} branches" if row["prepared_branches"] else ""
    return (
        f"{row['label']} had prepared for {percent(row['hit_rate'], 1)} of the outcomes "
        f"({percent(row['predicted_hit_rate'], 1)} expected){branches}; "
        f"{_percent(row['hidden_share'])} of its drafting was hidden"
    )


def _lost(row: Mapping[str, Any]) -> list[str]:
    lost = row.get("lost", {}).items()
    return [f"lost its draft on {count} of {len(row['samples'])} samples: {why}" for why, count in lost]


def _table(
    strategies: Sequence[Mapping[str, Any]], columns: Columns, loads: Sequence[Mapping[str, Any]], palette: Palette
) -> list[str]:
    baselines = {(load["concurrency"], load["rate"]): load["baseline"] for load in loads}
    rows = [[*columns], *(_cells(row, columns, baselines[row["concurrency"], row["rate"]]) for row in strategies)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marks = [" ", *(palette.mark(row["strategy"]) for row in strategies)]
    lines = [f"{mark} {_line(row, [*columns], widths)}".rstrip() for mark, row in zip(marks, rows, strict=True)]
    return [palette.dim(lines[0]), *lines[1:]]


def _cells(row: Mapping[str, Any], columns: Columns, baseline: str) -> list[str]:
    """Cells of a strategy. One without a sample has no figures under load."""
    if columns is AT_LOAD and not row["samples"]:
        return [row["label"], *["–"] * (len(columns) - 1)]
    return [cell(row, baseline) for cell in columns.values()]


def _line(cells: Sequence[str], headings: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        cell.ljust(width) if heading in TO_THE_LEFT else cell.rjust(width)
        for heading, cell, width in zip(headings, cells, widths, strict=True)
    )


def _speedup(row: Mapping[str, Any], baseline: str) -> str:
    gain = row["speedup"]
    if gain is None:
        return "–"
    if row["label"] == baseline:
        return "1"
    if gain["low"] is None:
        return f"{gain['ratio']:.2f} ({so_few(gain['prompts'])})"
    return f"{gain['ratio']:.2f} ({gain['low']:.2f} to {gain['high']:.2f})"


def _end_to_end(row: Mapping[str, Any], baseline: str) -> str:
    gain = row["end_to_end"]
    if gain is None or row["label"] == baseline:
        return "–" if gain is None else "1"
    return f"{gain['ratio']:.2f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _audit(counts: Mapping[str, int]) -> str:
    """Only what occurred: `24 identical`, or `22 identical, 2 tie`."""
    return ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.items() if count) or "–"


FOR_ONE: Columns = {
    "strategy": lambda row, baseline: str(row["label"]),
    "tokens/s": lambda row, baseline: f"{row['tokens_per_s']:.1f}" if row["tokens_per_s"] else "–",
    "speed-up": _speedup,
    "end to end": _end_to_end,
    "per round": lambda row, baseline: "–" if row["tokens_per_round"] is None else f"{row['tokens_per_round']:.2f}",
    "accepted": lambda row, baseline: _percent(row["draft_acceptance_rate"]),
    "drafting": lambda row, baseline: _percent(row["draft_share"]),
    "verifying": lambda row, baseline: _percent(row["verify_share"]),
    "audit": lambda row, baseline: _audit(row["audit"]),
}
AT_LOAD: Columns = {
    "strategy": lambda row, baseline: str(row["label"]),
    "tok/s/device": lambda row, baseline: f"{row['tokens_per_s_device']:.1f}",
    "tok/s/user": lambda row, baseline: f"{row['tokens_per_s_user']:.1f}",
    "speed-up": _speedup,
    "queue": lambda row, baseline: _two(row["queued_ms"]),
    "first token": lambda row, baseline: _two(row["ttft_ms"]),
    "per token": lambda row, baseline: _two(row["tpot_ms"]),
    "gap": lambda row, baseline: f"{ms(row['gap_ms']['p99'])} ms" if row["gap_ms"] else "–",
    "end to end": lambda row, baseline: _two(row["e2e_ms"]),
    "goodput": lambda row, baseline: _goodput(row["goodput"]),
    "audit": lambda row, baseline: _audit(row["audit"]),
}

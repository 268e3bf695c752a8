"""Draft price against speed-up: `python -m starter.curve` measures every draft of the starter target.

The target writes once. Each draft says at every position what it would propose, and all models are timed in turn in one
run. The speed-up is expected, not run: a replay of the matches at the measured prices.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from decoding.papers.figure import Axis, Point, Series, plain
from decoding.papers.files import script
from starter.measure import NEW_TOKENS, agreed, best_static, prices, test_prompts
from starter.text import sampler, write
from starter.train import say

COMMAND = "python -m starter.curve"
HERE = Path(__file__).parent
HEAD = (
    "| draft | parameters, M | draft pass, ms | draft / target pass | match | best static, expected |",
    "|---|---|---|---|---|---|",
)


def drafts_of(pair: Path, ladder: Path) -> dict[str, Path]:
    """Return the folder of each draft by name: the pair's own, and the rungs of the ladder."""
    rungs = {rung.parent.name: rung.parent for rung in ladder.glob("*/config.json")}
    return {"pair/draft": pair / "draft", **dict(sorted(rungs.items()))}


def measure(target: Path, drafts: dict[str, Path], texts: list[str], sampling: dict) -> list[dict]:
    """Measure match and price of every draft, the cheapest first."""
    choose = sampler(sampling["temperature"], seed=0, penalty=sampling.get("repetition_penalty", 1.0))
    tokenizer = AutoTokenizer.from_pretrained(target)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    written = write(_load(target), ids, NEW_TOKENS, choose)
    costs = prices(target, list(drafts.values()))
    rows = []
    for (name, folder), cost in zip(drafts.items(), costs, strict=True):
        model = _load(folder)
        row = {**agreed(model, ids, written, choose), "draft": name, "millions": model.num_parameters() / 1e6, **cost}
        lookahead, speed_up = best_static(row, cost)
        rows.append({**row, "lookahead": lookahead, "speed_up": speed_up})
    return sorted(rows, key=lambda row: row["draft_ms"])


def _load(folder: Path) -> LlamaForCausalLM:
    return LlamaForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()


def line(row: dict) -> str:
    share = row["draft_ms"] / row["target_ms"][0]
    return (
        f"| {row['draft']} | {row['millions']:.2f} | {row['draft_ms']:.2f} | {share:.0%} | {row['match']:.2f} | "
        f"{row['speed_up']:.2f} x at lookahead {row['lookahead']} |"
    )


def picture(rows: list[dict]) -> str:
    """Write a script that draws the curve."""
    points = [Point(row["draft_ms"] / row["target_ms"][0], row["speed_up"]) for row in rows]
    axes = Axis("draft pass / target pass", "share"), Axis("expected speed-up", "times")
    series = [Series("best static lookahead", "replayed", points)]
    return script(plain("curve", "Ladder", "Draft price against speed-up", *axes, series))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--pair", type=Path, default=HERE / "pair", help="whose target (%(default)s)")
    parser.add_argument("--ladder", type=Path, default=HERE / "ladder", help="folder of more drafts (%(default)s)")
    parser.add_argument("--prompts", type=Path, default=HERE / "prompts" / "code.jsonl", help="%(default)s")
    parser.add_argument("--count", type=int, default=32, help="of test prompts (%(default)s)")
    parser.add_argument("--script", type=Path, help="write a matplotlib script that draws the curve into this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sampling = json.loads((HERE / "defaults.json").read_text("utf-8"))["sampling"]
    texts = test_prompts(options.prompts)[: options.count]
    rows = measure(options.pair / "target", drafts_of(options.pair, options.ladder), texts, sampling)
    for text in (*HEAD, *map(line, rows)):
        say(text)
    if options.script:
        options.script.write_text(picture(rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

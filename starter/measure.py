"""Measurements of the pair: how often the draft agrees, in what runs, how repetitive the text is, what a step costs.

They use the shipped checkpoints and the test prompts: `python -m starter.measure` prints them.
"""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import Chain
from decoding.measure.summary import repeated_8grams
from decoding.models.checkpoints import load
from decoding.models.runner import ModelRunner
from decoding.replay.player import replay
from starter.text import Choose, sampler, write

HERE = Path(__file__).parent
PROMPTS = 96
NEW_TOKENS = 128
LOOKAHEADS = range(1, 9)


def measure(pair: Path, prompts: Path, sampling: dict[str, Any], say: Callable[[str], None]) -> dict:
    """Measure the pair on the test prompts, greedily and at the default sampling."""
    target, draft = (
        LlamaForCausalLM.from_pretrained(pair / name, dtype=torch.bfloat16).eval() for name in ("target", "draft")
    )
    tokenizer = AutoTokenizer.from_pretrained(pair / "target")
    rows = []
    for kind in ("code", "prose"):
        texts = test_prompts(prompts / f"{kind}.jsonl")
        ids = [tokenizer(text)["input_ids"] for text in texts]
        for name, settings in (("greedy", {"temperature": 0.0}), ("default", sampling)):
            choose = sampler(settings["temperature"], seed=0, penalty=settings.get("repetition_penalty", 1.0))
            rows.append({"prompts": kind, "sampling": name, **agreement(target, draft, ids, choose)})
            say(json.dumps(rows[-1]))
    return {"agreement": rows, "costs": costs(pair)}


def test_prompts(path: Path) -> list[str]:
    prompts = map(json.loads, path.read_text("utf-8").splitlines())
    return [prompt["text"] for prompt in prompts if prompt["split"] == "test"][:PROMPTS]


def agreement(target: LlamaForCausalLM, draft: LlamaForCausalLM, prompts: list[list[int]], choose: Choose) -> dict:
    """Let the target write, then ask the draft at every position for its own choice."""
    return agreed(draft, prompts, write(target, prompts, NEW_TOKENS, choose), choose)


def agreed(draft: LlamaForCausalLM, prompts: list[list[int]], texts: list[list[int]], choose: Choose) -> dict:
    """Ask a draft at every position of the target's texts for its own choice."""
    said = said_by(draft, prompts, texts, choose)
    matches = [[a == b for a, b in zip(*rows, strict=True)] for rows in zip(said, texts, strict=True)]
    records = [Record.of(row) for row in matches]
    lookaheads = [lookahead for record in records for lookahead in oracle_lookaheads(record)]
    return {
        "match": round(statistics.mean(map(statistics.mean, matches)), 3),
        "lookahead_mean": round(statistics.mean(lookaheads), 2),
        "lookahead_std": round(statistics.pstdev(lookaheads), 2),
        "repeated_8_grams": round(statistics.mean(map(repeated_8grams, texts)), 3),
        "passes_per_token": {k: passes_per_token(records, k) for k in LOOKAHEADS},
    }


@torch.no_grad()
def said_by(
    draft: LlamaForCausalLM, prompts: list[list[int]], texts: list[list[int]], choose: Choose
) -> list[list[int]]:
    """Return the draft's choice at each position of the texts, with the target's noise."""
    full = [prompt + text for prompt, text in zip(prompts, texts, strict=True)]
    width = max(map(len, full))
    padded = torch.tensor([row + [0] * (width - len(row)) for row in full])  # at the end, where no position sees it
    logits = draft(input_ids=padded).logits
    first = min(map(len, prompts))
    said = [choose(i, logits[:, i - 1].float(), padded[:, :i]) for i in range(first, width)]
    columns = torch.stack(said, dim=1).tolist()
    return [row[len(p) - first : len(p) - first + NEW_TOKENS] for row, p in zip(columns, prompts, strict=True)]


def oracle_lookaheads(record: Record) -> list[int]:
    """Return how many tokens each round accepts if every round ends at the first refusal."""
    lookaheads, at = [], 0
    while at < len(record.runs):
        lookaheads.append(record.runs[at])
        at += record.runs[at] + 1
    return lookaheads


def passes_per_token(records: list[Record], lookahead: int) -> float:
    """Return the target passes that a static lookahead needs for one token."""
    counts = replay(map(RecordedText, records), lambda: Chain(lookahead))
    return round(counts.target_passes / counts.tokens, 4)


def costs(pair: Path) -> dict:
    """Time passes of the target over one row and more, and of the draft over one, in our own runner."""
    return prices(pair / "target", [pair / "draft"])[0]


def prices(target: Path, drafts: list[Path]) -> list[dict]:
    """Time the target and several drafts in turn, so that load affects all alike. Return the costs with each draft.

    Each draft runs right after the target, which has taken the processor's cache from it, as in use."""
    widest = max(LOOKAHEADS) + 1
    runner, others = load(target).runner, [load(draft).runner for draft in drafts]
    calls: list[tuple[ModelRunner, int]] = [(runner, rows) for rows in range(1, widest + 1)]
    taken = median_ms([*calls, *(call for draft in others for call in ((draft, 1), (runner, widest)))])
    return [{"target_ms": taken[:widest], "draft_ms": draft_ms} for draft_ms in taken[widest::2]]


def median_ms(calls: list[tuple[ModelRunner, int]], repeats: int = 100) -> list[float]:
    """Time passes over so many rows after a text of 128 tokens, in turn, so that load affects all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for runner in {id(runner): runner for runner, _ in calls}.values():
        runner.extend(list(range(1, 129)))
    for _ in range(repeats):
        for taken, (runner, rows) in zip(times, calls, strict=True):
            begun = perf_counter()
            runner.extend(list(range(1, rows + 1)), need=rows)
            taken.append(1000 * (perf_counter() - begun))
            runner.rewind(128)
    return [round(statistics.median(taken), 3) for taken in times]


def best_static(row: dict, cost: dict) -> tuple[int, float]:
    """Return the lookahead with the highest expected speed-up, by matches and costs, and that speed-up."""
    target_ms = cost["target_ms"]
    speed_up = {
        int(k): target_ms[0] / (passes * (target_ms[int(k)] + int(k) * cost["draft_ms"]))
        for k, passes in row["passes_per_token"].items()
    }
    best = max(speed_up, key=speed_up.__getitem__)
    return best, round(speed_up[best], 2)


def main() -> None:
    torch.set_num_threads(1)
    sampling = json.loads((HERE / "defaults.json").read_text("utf-8"))["sampling"]
    print(json.dumps(measure(HERE / "pair", HERE / "prompts", sampling, print), indent=1))


if __name__ == "__main__":
    main()

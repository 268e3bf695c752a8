"""Model card: what the pair is made of, how, and its measurements, in words and tables."""

import json
import os
import platform
from pathlib import Path

import torch

from starter.measure import best_static

TEMPLATE = Path(__file__).with_name("card.md")


def write_card(path: Path, facts: dict) -> None:
    """Write the card from the work folder and the measurements."""
    cost = facts["measured"]["costs"]
    path.write_text(
        TEMPLATE.read_text("utf-8").format(
            **facts["made"],
            target_1_ms=cost["target_ms"][0],
            target_5_ms=cost["target_ms"][4],
            target_8_ms=cost["target_ms"][7],
            draft_1_ms=cost["draft_ms"],
            draft_per_verify=cost["draft_ms"] / cost["target_ms"][4],
            sampling=json.dumps(facts["sampling"]),
            agreement="\n".join(agreement_line(row, cost) for row in facts["measured"]["agreement"]),
            losses="\n".join(loss_lines(facts["losses"])),
            sources="\n".join(source_line(source) for source in facts["sources"]),
        ),
        "utf-8",
    )


def agreement_line(row: dict, cost: dict) -> str:
    lookahead, speed_up = best_static(row, cost)
    return (
        f"| {row['prompts']} | {row['sampling']} | {row['match']:.2f} | {row['lookahead_mean']:.2f} ± "
        f"{row['lookahead_std']:.2f} | {row['repeated_8_grams']:.2f} | {speed_up:.2f} x at lookahead {lookahead} |"
    )


def loss_lines(losses: dict[str, list[tuple[int, float]]]) -> list[str]:
    return [f"| {model} | {step:,} | {loss:.2f} |" for model, curve in losses.items() for step, loss in curve]


def source_line(source: dict) -> str:
    return (
        f"| {source['package']} | {source['version']} | {source['licence']} | {source['files']:,} | "
        f"{source['characters']:,} |"
    )


def machine() -> str:
    """Describe the kind of machine, without anything that identifies it."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    flags = ""
    if info.exists():
        text = info.read_text()
        model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), model)
        flags = " with AVX512-BF16" if "avx512_bf16" in text else ""
    return (
        f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores, {model}{flags}"
    )

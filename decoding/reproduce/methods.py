"""Methods paragraph of a study, generated from its facts. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoding.papers import FIGURES
from decoding.reproduce.figure import ORIGINS
from decoding.reproduce.settings import LONGEST_TOGETHER


def methods(facts: Mapping[str, Any], figures: Sequence[Mapping[str, Any]]) -> str:
    """Write the paragraph. `facts` are pair, prompts, sampling and hardware."""
    machine, sampling, prompts = facts["hardware"], facts["sampling"], facts["prompts"]
    seen = {series["origin"] for figure in figures for series in figure["series"]}
    origins = [f"{name} ({ORIGINS[name]})" for name in ORIGINS if name in seen and name != "published"]
    sentences = [
        f"We ran {facts['pair']} on {machine['device_name']} with {machine['threads']} "
        f"thread{'s' * (machine['threads'] != 1)} for the target, {machine['dtype']}, torch {machine['torch']} and "
        f"Drafthouse's own decoder where it knows the family.",
        f"The prompts are {prompts['count']} of {prompts['set']}"
        f"{', ' + prompts['split'] + ' split' if prompts.get('split') else ''}; each text has at most "
        f"{sampling['max_new_tokens']} new tokens{' and ignores the end token' if sampling.get('ignore_eos') else ''}.",
        f"DISCO's figures use temperature {sampling['temperature']:g} with {sampling['dice']} dice and seed "
        f"{sampling['seed']}; SSD's use temperatures 0, 0.3, 0.7 and 1, and above 0 the expectation under the ratio "
        "rule.",
        "Times are of decoding: prefill is excluded. Runs took turns in rotated order, prompt by prompt.",
        f"Texts that share passes ran strategy by strategy in a closed loop and have at most {LONGEST_TOGETHER} new "
        "tokens."
        if _ran_together(figures)
        else "",
        f"Our points are {'; '.join(origins)}." if origins else "",
        "Intervals are 95 % percentile bootstrap intervals over prompts (400 draws); those of formulas and of replays "
        "hold the prices fixed.",
        f"Machine load: {facts['noise']}" if facts.get("noise") else "",
        "Published points are from arXiv 2405.04304 and 2603.03251; each names how it was read.",
    ]
    return " ".join(filter(None, sentences))


def _ran_together(figures: Sequence[Mapping[str, Any]]) -> bool:
    own = {slug for slug, figure in FIGURES.items() if "together" in figure.uses}
    return any(f["slug"] in own and any(each["origin"] == "measured" for each in f["series"]) for f in figures)

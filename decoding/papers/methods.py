"""Methods paragraph of a study, generated from its facts. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from decoding.dice.sampling import Sampling
from decoding.papers.bootstrap import DRAWS
from decoding.papers.figure import DISCO, SSD
from decoding.papers.figures import FIGURES
from decoding.papers.settings import LONGEST_TOGETHER, ORIGINS, TEMPERATURES

DECODERS = {"fast": "Drafthouse's own decoder", "transformers": "the decoder of transformers"}
ALIKE = ("repetition_penalty", "top_k", "top_p", "stop")  # settings of every figure
Drawn = Sequence[Mapping[str, Any]]  # finished figures


def methods(facts: Mapping[str, Any], figures: Sequence[Mapping[str, Any]]) -> str:
    """Write the paragraph. `facts` are pair, prompts, sampling, hardware and, if there is one, the classifier."""
    drawn = [figure for figure in figures if not figure["needs"]]
    used = {piece for figure in drawn if figure["slug"] in FIGURES for piece in FIGURES[figure["slug"]].uses}
    sentences = [_setting(facts), *_sampling(facts["sampling"], drawn, used), *_classifier(facts, drawn)]
    sentences += [*_runs(drawn, used), *_points(drawn)]
    if (also := facts["prompts"].get("also")) and "also_study" in used:
        sentences.append(f"Transfer is to and from {also['count']} prompts of {also['set']}.")
    if facts.get("noise"):
        sentences.append(f"Machine load: {facts['noise']}")
    return " ".join(sentences)


def _setting(facts: Mapping[str, Any]) -> str:
    machine, prompts, sampling = facts["hardware"], facts["prompts"], facts["sampling"]
    decoder = DECODERS.get(machine.get("runner", ""), "")
    return (
        f"We ran {facts['pair']} on {machine['device_name']} with {machine['threads']} "
        f"thread{'s' * (machine['threads'] != 1)} for the target, {machine['dtype']} and torch {machine['torch']}"
        f"{', with ' * bool(decoder)}{decoder}. The prompts are {prompts['count']} of {prompts['set']}"
        f"{', ' + prompts['split'] + ' split' if prompts.get('split') else ''}; each text has at most "
        f"{sampling['max_new_tokens']} new tokens{' and ignores the end token' if sampling.get('ignore_eos') else ''}."
    )


def _sampling(sampling: Mapping[str, Any], drawn: Drawn, used: set[str]) -> Iterator[str]:
    papers = {figure["paper"]["arxiv"] for figure in drawn}
    if DISCO.arxiv in papers:
        yield (
            f"DISCO's figures use temperature {sampling['temperature']:g} with {sampling['dice']} dice and seed "
            f"{sampling['seed']}."
        )
    temperatures = sorted({*(TEMPERATURES if "temperatures" in used else ()), *_single(used)})
    if SSD.arxiv in papers and temperatures:
        words = f"SSD's use temperature{'s' * (len(temperatures) > 1)} {_listed(f'{t:g}' for t in temperatures)}"
        yield f"{words}{', and above 0 the expectation under the ratio rule' if temperatures[-1] else ''}."
    usual = Sampling().to_dict()
    changed = [name for name in ALIKE if sampling.get(name, usual[name]) != usual[name]]
    if changed:
        words = _listed(f"{name.replace('_', ' ')} {sampling[name]}" for name in changed)
        yield f"All use {words}."


def _classifier(facts: Mapping[str, Any], drawn: Drawn) -> Iterator[str]:
    if facts.get("classifier") and any(figure["paper"]["arxiv"] == DISCO.arxiv for figure in drawn):
        yield f"DISCO decides with the classifier {facts['classifier']['name']}."


def _single(used: set[str]) -> Iterator[float]:
    """Temperatures of evidence that has one alone."""
    if "constants" in used:
        yield 1.0
    if used & {"greedy", "ran_ssd", "joint", "ran_together"}:
        yield 0.0


def _runs(drawn: Drawn, used: set[str]) -> Iterator[str]:
    if used & {"costs", "ran", "ran_ssd"}:
        yield "Times are of decoding: prefill is excluded."
    if used & {"ran", "ran_ssd"}:
        yield "Runs took turns in rotated order, prompt by prompt. The best lookaheads were chosen on the same prompts."
    if _ran(drawn, "ran_by_temperature"):
        yield "Runs of Figure 4 draw with shared dice above temperature 0."
    if _ran(drawn, "ran_together"):
        yield (
            "Texts that share passes ran strategy by strategy in a closed loop and have at most "
            f"{LONGEST_TOGETHER} new tokens."
        )


def _points(drawn: Drawn) -> Iterator[str]:
    series = [each for figure in drawn for each in figure["series"]]
    seen = {each["origin"] for each in series}
    origins = [f"{name} ({ORIGINS[name]})" for name in ORIGINS if name in seen and name != "published"]
    if origins:
        yield f"Our points are {'; '.join(origins)}."
    if any(point["low"] is not None for each in series for point in each.get("points", ())):
        yield (
            f"Intervals are 95 % percentile bootstrap intervals over prompts ({DRAWS} draws); those of formulas, "
            "replays and simulations hold the prices fixed."
        )
    of = {f["paper"]["arxiv"] for f in drawn if any(each["origin"] == "published" for each in f["series"])}
    if of:
        yield f"Published points are from arXiv {_listed(sorted(of))}; each names how it was read."


def _listed(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _ran(drawn: Drawn, piece: str) -> bool:
    own = {slug for slug, figure in FIGURES.items() if piece in figure.uses}
    return any(f["slug"] in own and any(each["origin"] == "measured" for each in f["series"]) for f in drawn)

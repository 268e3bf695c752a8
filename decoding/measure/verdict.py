"""Verdict: a comparison in one sentence, its doubt, which stands under it, and doubts about servers. Pages, shares,
terminal and API take them from here. Standard library only; works on the rows of `summary.report`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from decoding.measure.ranking import RANKED, Row, leader_of, listed, ranked
from decoding.measure.sample import SampleResult
from decoding.measure.summary import ENDED, Stage, so_few
from decoding.strategies import BASELINE, STRATEGIES

BUSY = "The machine was not quiet: repeat this on a quiet one before you rely on it."
NO_INTERVALS = "Other programs used more than half of the machine, so no interval would hold."
LOOPING = 0.2  # share of repeated 8-grams from which it is told


def doubt(ranking: str, *, is_noisy: bool, told: str = "") -> str:
    """State why a verdict may be wrong: a busy machine first, then prompts that `told` says are left out, then what
    `ranking` says is open."""
    return " ".join(filter(None, (BUSY if is_noisy else "", told, ranking)))


def looping(rows: Sequence[Row]) -> str:
    """State how much of the text repeats itself, if strategies that copy gain by that."""
    copying = [row for row in rows if row["role"] in RANKED and STRATEGIES[row["strategy"]].usual_source.copies]
    share = max((row["repeated_8grams"] or 0 for row in copying), default=0)
    if share < LOOPING:
        return ""
    names = listed([*dict.fromkeys(row["label"] for row in copying)], "and")
    return (
        f"{share * 100:.0f} % of the text repeats itself and is easy to copy: expect less of "
        f"{names} on texts that repeat less."
    )


def verdict(strategies: Sequence[Row], baseline: str = BASELINE, stage: Stage = ENDED) -> str:
    """State how much faster than the baseline the best strategy is, how certain that is, and whether the text is still
    the target's."""
    if len(strategies) == 1:
        return f"Only {strategies[0]['label']} takes part, so there is nothing to rank."
    found = [row for row in ranked(strategies) if row["label"] != baseline]
    words = [_diverging(row) for row in strategies if row["audit"]["divergent"]]
    if not found:
        others = "other " if words else ""
        words.append(f"Nothing to rank: no {others}strategy has a finished sample beside {baseline}'s.")
    else:
        words += [f"{_gain(found, baseline, stage)}."]
        best = _named(found)
        words += [_losslessness(best, stage)] if best else []
    return " ".join(words)


def _named(found: Sequence[Row]) -> Row | None:
    """The row that a verdict is about: the leader, else the fastest. None if no interval tells several apart."""
    sure = [row for row in found if row["speedup"]["low"] is not None]
    return leader_of(found) or next(iter(sure), found[0] if len(found) == 1 else None)


def _gain(found: Sequence[Row], baseline: str, stage: Stage) -> str:
    best, prompts = _named(found), found[0]["speedup"]["prompts"]
    so_far = _so_far(prompts, stage)
    if best is None:
        slowest, fastest = found[-1]["speedup"]["ratio"], found[0]["speedup"]["ratio"]
        return (
            f"{so_far or f'On {so_few(prompts)}'}, the {len(found)} strategies ran at {slowest:.2f} to {fastest:.2f} "
            f"times {baseline}'s speed; nobody can say yet which is fastest"
        )
    gain, start = best["speedup"], f"{so_far}, " if so_far else ""
    if gain["low"] is None:
        return (
            f"{start}{best['label']} ran at {gain['ratio']:.2f} times {baseline}'s speed"
            f"{'' if so_far else f' on {so_few(prompts)}'}, and nobody can say yet how sure that is"
        )
    if all((row["speedup"]["high"] or 1) < 1 for row in found):
        return f"{start}{'e' if start else 'E'}very strategy is slower than {baseline}; {_closest(best, stage)}"
    if gain["low"] <= 1:
        none = f"{'no' if start else 'No'} strategy is shown to be faster than {baseline}"
        return f"{start}{none}; {_closest(best, stage)}"
    ahead = found[: found.index(best)]
    also = f"; {listed([_ran(row) for row in ahead], 'and')}, which is not shown to be a gain" if ahead else ""
    return f"{start}{best['label']} is {gain['ratio']:.2f} times as fast as {baseline} ({_interval(gain, stage)}){also}"


def _ran(row: Row) -> str:
    return f"{row['label']} ran at {row['speedup']['ratio']:.2f} times"


def _so_far(prompts: int, stage: Stage) -> str:
    if not stage.planned:
        return ""
    repeat = f", in repeat {stage.repeat} of {stage.repeats}" if stage.repeats > 1 else ""
    return f"{'Stopped' if stage.is_over else 'So far'} after {prompts} of {stage.planned} prompts{repeat}"


def _closest(row: Row, stage: Stage) -> str:
    gain = row["speedup"]
    return f"{row['label']} comes closest at {gain['ratio']:.2f} times ({_interval(gain, stage)})"


def _interval(gain: Row, stage: Stage) -> str:
    if stage.planned:
        return f"95 % interval at every look {gain['low']:.2f} to {gain['high']:.2f}"
    return f"95 % interval {gain['low']:.2f} to {gain['high']:.2f}, {gain['prompts']} prompts"


def _diverging(row: Row) -> str:
    audit = row["audit"]
    compared = audit["identical"] + audit["tie"] + audit["divergent"]
    return (
        f"{row['label']} writes another text than the target on {audit['divergent']} of {compared} samples: do not "
        "trust it. It is not ranked."
    )


def _losslessness(row: Row, stage: Stage) -> str:
    audit = row["audit"]
    compared = audit["identical"] + audit["tie"]
    if not compared:
        return "Its texts are its own draws, so they are not compared word for word."
    if audit["identical"] == compared:
        every = "the one sample" if compared == 1 else f"all {compared} samples"
        return f"Its text is exactly the target's on {every}{' so far' if not stage.is_over else ''}."
    tie = f"a tie in {row['tie_in']}," if row.get("tie_in") else "a numeric tie"
    return (
        f"Its text is exactly the target's on {audit['identical']} of {compared} samples, and differs by {tie} on "
        f"{audit['tie']}."
    )


def doubts(samples: Sequence[SampleResult]) -> list[str]:
    """One sentence for each server and kind of doubt: another text than the target's, figures that contradict the
    answer, prompts from a cache."""
    by_label: dict[str, list[SampleResult]] = {}
    for sample in samples:
        if sample.reported:
            by_label.setdefault(sample.strategy, []).append(sample)
    return [sentence for label, own in by_label.items() for sentence in _of_server(label, own)]


def _of_server(label: str, samples: Sequence[SampleResult]) -> Iterable[str]:
    other = [s.audit for s in samples if s.audit and s.audit.outcome == "divergent"]
    if other:
        yield (
            f"{label} does not write the target's text on {len(other)} of {len(samples)} samples (first difference at "
            f"token {other[0].position}): it serves another model, or decodes with errors. Do not rely on its speed."
        )
    lied = [s.reported.doubt for s in samples if s.reported and s.reported.doubt]
    if lied:
        yield (
            f"{label} contradicts itself on {len(lied)} of {len(samples)} samples: {lied[0]}. Take its counts and "
            "rates as unknown."
        )
    cached = [s.reported.cached_tokens for s in samples if s.reported and s.reported.cached_tokens]
    if cached:
        yield (
            f"{label} took prompt tokens from its prefix cache on {len(cached)} of {len(samples)} samples, so its "
            "times to the first token are too good. Switch its prefix cache off."
        )

"""Fit of prices to runs that prepare drafts ahead, for one text and for several. Standard library only.

Most are means, because a run is the sum of its rounds: a median would miss what happens now and then, such as making
noise for a block of positions at once.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from decoding.prices.cost_model import CostModel, Line
from decoding.prices.fit import fitted, grouped
from decoding.trace.accounting import MODEL, Round, answers_of, rounds
from decoding.trace.events import Anticipated, Event

Counted = Mapping[str, Any]  # counts of a sample
Samples = Sequence[Mapping[str, Any]]  # numbers of the samples of a run


# One text -------------------------------------------------------------------------------------------------------------


def prices_beside(single: CostModel, ssd: Iterable[Sequence[Event]]) -> CostModel:
    """Measure prices on samples of SSD as it is to be simulated: two models at once may each run slower than alone.
    `single` gives the price of a verification by its rows. The answers include their messages."""
    firsts, later = list[Round](), list[Round]()  # a text's first round finds cold caches
    for trace in ssd:
        first, *others = rounds(trace)
        firsts.append(first)
        later += others
    prepared = [(each, each.beside) for each in later if each.draft and each.beside]
    judged = [(each.verifying_s, single.verify(1, len(each.draft.tokens) + 1)) for each in later if each.draft]
    slower = sum(seconds for seconds, _ in judged) / sum(usual for _, usual in judged)
    drafts = [(each.draft, each.working_s) for each in later if each.draft]
    # A hit that went on alone is left out: it had some of its tokens already.
    by_model = [(draft.passes, seconds) for draft, seconds in drafts if draft.passes and draft.source != "hit"]
    per_token, per_draft = fitted(grouped(by_model), statistics.fmean)
    opening, opening_read = (
        _mean([beside.opening_ns * 1e-9 for each, beside in prepared if each.is_read is is_read])
        for is_read in (False, True)
    )
    taking = _mean([each.asking_s for each in later if each.was_ready])
    others = [each for each in later if not each.was_ready]
    # The last round's preparation is not in the trace, so in turn its time would look like settling.
    settling = _mean([each.settling_s for each in later if each.beside or not each.draft])
    found = replace(
        single,
        target={1: [(rows, slower * seconds) for rows, seconds in single.target[1]]},
        steps={1: [(1, per_token)]},
        begin=[(1, per_draft)],
        rest=[(1, settling)],
        branches=_steps([beside for _, beside in prepared]),
        opening=opening,
        opening_read=opening_read or opening,
        taking=taking,
        answer=_mean([each.working_s for each in others if each.draft and not each.draft.passes]) or taking,
        turning=_mean([each.turning_s for each, _ in prepared]),
    )
    return replace(found, start=_mean([_more(first, found) for first in firsts]))


def _steps(prepared: Iterable[Anticipated]) -> Line:
    """Seconds of a step by its branches: all time by all steps. A draft that looks for the verdict makes as many steps
    as there is time for, so times by numbers of steps lie on no line."""
    spent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for event in prepared:
        if event.passes > 1:
            both = spent[sum(event.fanout)]
            both[0] += (event.busy_ns - event.opening_ns) * 1e-9
            both[1] += event.passes - 1
    return sorted((branches, seconds / steps) for branches, (seconds, steps) in spent.items()) or [(1, 0.0)]


def _more(first: Round, prices: CostModel) -> float:
    """Seconds that a first round took beyond the usual."""
    drafted = len(first.draft.tokens) if first.draft else 0
    usual = prices.drafted(1, drafted) + prices.verify(1, drafted + 1)
    return first.took_s - first.preparing_s - usual


def _mean(seconds: Sequence[float]) -> float:
    return statistics.fmean(seconds) if seconds else 0.0


# Several texts: both models share the memory, and one question asks for the drafts of all ----------------------------


def prepared_in(
    runs: Iterable[tuple[int | None, Samples]], undrafted: Samples, costs: CostModel, users: int
) -> CostModel | None:
    """Add the prices of preparing, from runs with so many users, each with its branches, None where their number was
    left open. `undrafted` is autoregressive's run of the same minutes: what slowed that down slowed all of them down.
    Return None if nothing was prepared."""
    drift = _slowed(undrafted, costs, users)
    found = [(n, [*filter(None, (one["hits"] for one in of))], _slowed(of, costs, users) / drift) for n, of in runs]
    prepared = [run for run in found if any(one["passes"] for one in run[1])]
    return with_preparing(costs, prepared, users, drift) if prepared else None


def with_preparing(
    costs: CostModel,
    runs: Sequence[tuple[int | None, Sequence[Counted], float]],
    users: int,
    drift: float = 1.0,
) -> CostModel:
    """Add the prices of preparing, from the counts of runs, each with its branches and how many times as long as alone
    its verifications took. `drift` is how much slower everything was than by the costs."""
    passes = {branches or _rows_of(found): pass_seconds(found) / drift for branches, found, _ in runs}
    slower = max(1.0, statistics.mean(slowed for _, _, slowed in runs))
    working = statistics.mean(_working(found) for _, found, _ in runs)
    answer = statistics.mean(_answering(found, costs, users, drift) for _, found, _ in runs)
    return replace(costs, branches=sorted(passes.items()), slower=slower, delay=_delay(slower, working), answer=answer)


def undisturbed(costs: CostModel, prices: CostModel, single: CostModel) -> CostModel:
    """Add the prices of preparing for one text, with and without a draft beside it: a joint pass has as many rows,
    whichever texts they belong to."""
    slower = max(1.0, prices.verify(1, 2) / single.verify(1, 2))
    return replace(costs, branches=prices.branches, slower=slower, delay=_delay(slower, 1.0), answer=prices.answer)


def pass_seconds(found: Sequence[Counted]) -> float:
    """Mean seconds of one pass that prepared, from samples' counts."""
    busy_ns: int = sum(hits["busy_ns"] for hits in found)
    return busy_ns * 1e-9 / sum(int(hits["passes"]) for hits in found)


def _rows_of(found: Sequence[Counted]) -> float:
    """Mean rows of a pass that prepared."""
    rows, preparations = (sum(int(hits[name]) for hits in found) for name in ("rows", "preparations"))
    return rows / max(1, preparations)


def _working(found: Sequence[Counted]) -> float:
    """Share of the verifications in which the draft worked too; all of it where earlier versions did not count that."""
    verifying: int = answers_of(found).verifying_ns
    return min(1.0, sum(one["hidden_ns"] for one in found) / verifying) if verifying else 1.0


def _delay(slower: float, working: float) -> float:
    """Seconds that a verification takes longer for each second in which the draft works, if it takes so many times as
    long while the draft works for this share of it. More than one second would have another cause."""
    return min(1.0, (1 - 1 / slower) / working) if working else 1.0


def _answering(found: Sequence[Counted], costs: CostModel, users: int, drift: float) -> float:
    """Seconds from a question to its answer, less those in which the model drafts. Texts wait for one another's drafts,
    which come independently."""
    answers = answers_of(found)
    if not (rounds := answers.rounds.total()):
        return 0.0
    drafts = answers.stepping or answers.rounds[MODEL]  # older samples count misses alone
    drafting = 0.0
    if drafts:
        share = drafts / rounds
        any_drafts = 1 - (1 - share) ** users
        drafting = any_drafts * costs.drafted(users * share / any_drafts, answers.steps / drafts)
    return max(0.0, answers.answering_ns * 1e-9 / rounds / drift - drafting)


def _slowed(samples: Samples, costs: CostModel, users: int) -> float:
    """How many times as long as by the costs the verifications of a run took."""
    rounds: int = sum(one["num_target_passes"] for one in samples)
    drafted = sum(one["num_draft_tokens"] or 0 for one in samples) / rounds
    took_ns: int = sum(one["verify_ns"] for one in samples)
    return took_ns * 1e-9 / rounds / costs.verify(users, round(users * (1 + drafted)))

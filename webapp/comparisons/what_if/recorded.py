"""Read the traces of a comparison into the form that a replay needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.core.cache import cache

from decoding.public import (
    BASELINE,
    MOST_USERS_ASKED,
    STRATEGIES,
    AheadPrices,
    CostModel,
    Event,
    RecordedComparison,
    Started,
    TracedText,
    Verified,
    costs_from,
    drafting_is_clear,
    from_dict,
    prepared_in,
    reading_cost,
    with_loads,
    with_mixes,
    with_trees,
    works_at_once,
)
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Run, Sample, SampleQuerySet

DRAFTED_BY_THE_PAIR = {slug for slug, strategy in STRATEGIES.items() if strategy.drafts_with_the_pair}
COPYING = {slug for slug, strategy in STRATEGIES.items() if strategy.copies_only}
PRICED = {slug for slug, strategy in STRATEGIES.items() if strategy.prices_passes}
AHEAD = {slug for slug, strategy in STRATEGIES.items() if strategy.prepares_ahead and strategy.sliders}
TREES = {slug for slug, strategy in STRATEGIES.items() if strategy.usual_source.branches}
MIXES = {slug for slug, strategy in STRATEGIES.items() if strategy.usual_source.weighs and strategy.role == "ranked"}
KEPT_WORDS = 40  # characters of a prompt's end: some sources look at the words before a round
MOST_SAMPLES = 200  # read for one answer; of more samples, prompts evenly spread over all
MOST_SAMPLES_OF_A_RUN = 24  # read of each run with several users, for its prices
KEPT_SECONDS = 3600

Traces = Sequence[Sequence[Event]]


def version(comparison: Comparison) -> str:
    """Return a key that changes when there is more to read."""
    count = Sample.objects.filter(run__comparison=comparison).finished().count()
    return f"{comparison.pk}:{comparison.job.attempt}:{comparison.job.state}:{count}"


def one_user(comparison: Comparison) -> SampleQuerySet:
    """Return the finished samples of one user at a time: under load the times of a text are those of its neighbours
    too."""
    return Sample.objects.filter(run__comparison=comparison, run__concurrency=1).finished()


def recorded(comparison: Comparison) -> RecordedComparison | None:
    """Return the recordings; None if nothing can be replayed yet. Reading traces is most of the work, so they are
    cached for other questions."""
    return cache.get_or_set(f"recorded-3:{version(comparison)}", lambda: _read(comparison), KEPT_SECONDS)


def _read(comparison: Comparison) -> RecordedComparison | None:
    rows = one_user(comparison).filter(repeat=1).select_related("run")
    undrafted = rows.filter(run__strategy=BASELINE).select_related("prompt").order_by("prompt__number")
    texts = {row.prompt_id: row.numbers for row in undrafted}
    before = {row.prompt_id: row.prompt.text[-KEPT_WORDS:] for row in undrafted}
    few = list(texts)[:: max(1, -(-len(texts) * comparison.runs.count() // MOST_SAMPLES))]
    read = rows.filter(prompt_id__in=few, run__strategy__in=DRAFTED_BY_THE_PAIR | PRICED)
    alike = {row.pk: row for row in read if row.numbers["tokens"] == texts[row.prompt_id]["tokens"]}
    room = comparison.sampling["max_new_tokens"]
    prompts = {prompt: _places(texts[prompt], before[prompt], room) for prompt in few if texts[prompt]["tokens"]}
    played = list[tuple[str, list[Event]]]()
    began: dict[bool, dict[int, Started]] = {False: {}, True: {}}  # by whether a draft model read the prompt
    for pk, stored, words in trace.read_all(alike):
        strategy, prompt = alike[pk].run.strategy, alike[pk].prompt_id
        events = [*map(from_dict, stored)]
        _note_start(began, strategy, prompt, events)
        if strategy == BASELINE and prompt in prompts:
            prompts[prompt].pieces = [words.get(str(token), "") for token in texts[prompt]["tokens"]]
        if strategy in {BASELINE, *DRAFTED_BY_THE_PAIR} and prompt in prompts:
            prompts[prompt].learn(events, has_branches=strategy in AHEAD)
        if strategy in PRICED | AHEAD | TREES | MIXES:
            played.append((strategy, events))
    priced, ahead, trees, mixes = (
        [run for slug, run in played if slug in wanted] for wanted in (PRICED, AHEAD, TREES, MIXES)
    )
    drafted = {prompt: places for prompt, places in prompts.items() if places.is_drafted}
    costs = _costs(priced, bool(drafted), trees, mixes)
    seen = drafted or {prompt: places for prompt, places in prompts.items() if places.prompt_tokens}
    if not seen or costs is None:
        return None
    prices = with_loads(costs, _by_users(comparison), reading_cost(began[False], began[True]))
    found = RecordedComparison([*seen.values()], len(texts), *prices, is_clear=not drafted or drafting_is_clear(priced))
    prepared = AheadPrices.of(priced, ahead, is_beside=_is_beside(comparison))
    return replace(found, ahead=prepared and replace(prepared, at=_preparing(comparison, found.costs)))


def _note_start(began: Mapping[bool, dict[int, Started]], strategy: str, prompt: int, events: Sequence[Event]) -> None:
    if (strategy == BASELINE or strategy in DRAFTED_BY_THE_PAIR) and events and isinstance(events[0], Started):
        began[strategy in DRAFTED_BY_THE_PAIR][prompt] = events[0]


def _by_users(comparison: Comparison) -> dict[int, list[Traces]]:
    """Read what passes cost that several texts share, from the runs with several users."""
    runs: dict[int, list[Traces]] = defaultdict(list)
    for run, samples in _at_load(comparison, PRICED):
        runs[run.concurrency or 1].append([[from_dict(event) for event in of] for _, of, _ in trace.read_all(samples)])
    return runs


def _preparing(comparison: Comparison, costs: CostModel) -> dict[int, CostModel]:
    """Read what preparing ahead costs for several users, from the runs that did."""
    runs: dict[int, list[tuple[int | None, list[dict[str, Any]]]]] = defaultdict(list)
    undrafted = dict[int, list[dict[str, Any]]]()
    for run, samples in _at_load(comparison, {BASELINE, *AHEAD}):
        users, numbers = run.concurrency or 1, [sample.numbers for sample in samples.values()]
        if ahead := run.choice.ahead:
            runs[users].append((ahead.branches, numbers))
        else:
            undrafted[users] = numbers
    loads = [users for users in runs if users in undrafted]
    found = {users: prepared_in(runs[users], undrafted[users], costs, users) for users in loads}
    return {users: at for users, at in found.items() if at}


def _at_load(comparison: Comparison, strategies: Collection[str]) -> Iterator[tuple[Run, dict[UUID, Sample]]]:
    """Return some samples of each run of these strategies with several users."""
    for run in comparison.runs.filter(concurrency__gt=1, concurrency__lte=MOST_USERS_ASKED, strategy__in=strategies):
        if samples := {one.pk: one for one in run.samples.finished().filter(repeat=1)[:MOST_SAMPLES_OF_A_RUN]}:
            yield run, samples


def _is_beside(comparison: Comparison) -> bool:
    """Whether SSD's draft worked beside the target here."""
    stated = comparison.hardware.get("by_strategy", {})
    return any(works_at_once(stated.get(run.label, "")) for run in comparison.runs.all() if run.strategy in AHEAD)


def _places(text: Mapping[str, Any], before: str, room: int) -> TracedText:
    length = len(text["tokens"])
    most = length if text["reason"] == "context" else max(room, length)
    return TracedText.of(length, most, text["reason"] == "eos", before, text["tokens"])


def _costs(
    priced: Sequence[Sequence[Event]],
    has_drafts: bool,
    trees: Sequence[Sequence[Event]],
    mixes: Sequence[Sequence[Event]],
) -> CostModel | None:
    """Return the measured prices; None if no sample has two rounds, or a price is missing. Only trees that ran show the
    price of their places, and only mixes that of a choice between two sources."""
    if not any(sum(isinstance(event, Verified) for event in events) > 1 for events in priced):
        return None
    costs = costs_from(priced)
    costs = with_mixes(with_trees(costs, trees), mixes)
    return costs if costs.draft(1) > 0 or not has_drafts else None

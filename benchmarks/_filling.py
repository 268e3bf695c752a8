"""Fill a database as a busy year would: 10,000 comparisons of two runs with 25 rounds a sample are 1,000,000 rounds."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import cycle, islice
from typing import Any

from django.db import transaction
from django.utils import timezone

from decoding.choice import parse_choices
from decoding.measure.sample import sample_from_events
from decoding.trace.events import Drafted, Event, Finished, Started, Verified, to_dict
from tests.kit import make
from tests.kit.everything import one_of_everything
from tests.kit.teams import World, a_world
from webapp.accounts.models import AuditEntry, Membership, Role, Team
from webapp.comparisons import figures
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample, TraceChunk
from webapp.comparisons.packing import pack
from webapp.jobs.models import Job, JobEvent, JobState
from webapp.registry.models import Dataset, LanguageModel, Pair, Prompt

TEAMS, MODELS, PAIRS, DATASETS = 50, 200, 100, 20
STATIC = range(1, 8)
PROMPTS_EACH, ROUNDS_EACH = 2, 25
LARGE_PROMPTS, LARGE_ROUNDS = 100, 125
VARIETY = 20  # different traces per strategy

Trace = tuple[bytes, int, dict[str, Any]]  # packed events, their count, the sample's figures


def fill(comparison_count: int) -> tuple[World, dict[str, Any]]:
    """Fill the database. Returns its users and one object per kind by route name; that comparison has 100 prompts and 8
    runs."""
    world = a_world()
    things = one_of_everything(world)
    by = world.actor(world.alice)
    _add_teams(world)
    datasets = [make.dataset(by, LARGE_PROMPTS, f"prompts {number}") for number in range(DATASETS)]
    pairs = _add_pairs(things["pairs"])
    large = _large(world, pairs[0], datasets[0])
    _add_comparisons(comparison_count, large, pairs, datasets)
    run = large.runs.get(number=2)
    things |= {name: large for name in ("comparisons", "comparison", "shares")}
    things |= {"pairs": pairs[0], "pair": pairs[0], "datasets": datasets[0], "dataset": datasets[0], "runs": run}
    return world, things | {"samples": run.samples.first(), "jobs": large.job, "job": large.job}


def _save(rows: Iterable[Any]) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, 500)):
        with transaction.atomic():
            type(batch[0]).objects.bulk_create(batch)


def _add_teams(world: World) -> None:
    """Add teams. Bob is in all of them but one, as an administrator may be."""
    teams = [Team(name=f"team {number}") for number in range(TEAMS - 2)]
    _save(teams)
    _save(Membership(team=team, user=world.bob, role=Role.MEMBER) for team in teams)


def _add_pairs(first: Pair) -> list[Pair]:
    same = {"team_id": first.team_id, "created_by_id": first.created_by_id}
    models = []
    for number in range(MODELS - 2):
        like = first.draft if number % 2 else first.target
        models.append(
            LanguageModel(**same, name=f"model {number}", source="upload", upload=like.upload, state=like.state,
                          facts=like.facts)
        )  # fmt: skip
    _save(models)
    pairs = [
        Pair(**same, name=f"pair {number}", target=models[number * 2], draft=models[number * 2 + 1],
             findings=first.findings)
        for number in range(PAIRS - 1)
    ]  # fmt: skip
    _save(pairs)
    return [first, *pairs]


def _large(world: World, pair: Pair, dataset: Dataset) -> Comparison:
    by = world.actor(world.alice)
    strategies = [{"strategy": "static", "params": {"lookahead": lookahead}} for lookahead in STATIC]
    made = make.comparison(by, pair=pair, dataset=dataset, limit=LARGE_PROMPTS, strategies=strategies)
    made.job.state, made.job.finished, made.job.attempt = JobState.SUCCEEDED, timezone.now(), 1
    made.job.done_count = made.job.total_count
    made.job.save()
    _add_samples([(run, list(made.prompts)) for run in made.runs.all()], LARGE_ROUNDS)
    figures.sum_up(made)
    return made


def _add_comparisons(count: int, large: Comparison, pairs: list[Pair], datasets: list[Dataset]) -> None:
    """Add one comparison per hour, back from now; each has autoregressive and one static lookahead."""
    kinds = {run.label: run for run in large.runs.all()}
    conditions = [_conditions(large, pair, dataset) for pair, dataset in zip(pairs, cycle(datasets), strict=False)]
    _save(conditions)
    prompts = {dataset.pk: list(dataset.prompts.all()[:PROMPTS_EACH]) for dataset in datasets}
    for start in range(0, count, 500):  # limits memory to 500 rows
        made = [_comparison(number, large, conditions[number % PAIRS]) for number in range(start, start + 500)]
        _save(comparison.job for comparison in made)
        _save(event for comparison in made for event in _history(comparison.job))
        _save(made)
        _save(_audit(comparison) for comparison in made)
        runs = [_run(comparison, k, kinds[label]) for number, comparison in enumerate(made)
                for k, label in enumerate(("autoregressive", f"static:{STATIC[number % len(STATIC)]}"), 1)]  # fmt: skip
        _save(runs)
        _add_samples([(run, prompts[run.comparison.dataset_id]) for run in runs], ROUNDS_EACH)
        _save(_figures(run, kinds[run.label], conditions) for run in runs)


def _conditions(large: Comparison, pair: Pair, dataset: Dataset) -> Conditions:
    return Conditions(team_id=large.team_id, digest=f"{pair.pk}", pair=pair, dataset=dataset,
                      limit=PROMPTS_EACH, sampling=large.sampling, device="cpu")  # fmt: skip


def _comparison(number: int, large: Comparison, alike: Conditions) -> Comparison:
    when = timezone.now() - timedelta(hours=number + 1)
    same = {"team_id": large.team_id, "created_by_id": large.created_by_id, "created": when}
    count = 2 * PROMPTS_EACH
    job = Job(**same, **COMPARISON.columns(), queue="cpu", title=f"comparison {number}", state=JobState.SUCCEEDED,
              attempt=1, worker="cpu-1@host", started=when, finished=when,
              done_count=count, total_count=count)  # fmt: skip
    return Comparison(**same, name=job.title, job=job, summed=when, pair=alike.pair, dataset=alike.dataset,
                      sampling=large.sampling, limit=PROMPTS_EACH, hardware=large.hardware, frozen=when)  # fmt: skip


def _history(job: Job) -> Iterator[JobEvent]:
    told = (
        (JobState.QUEUED, "It waits."),
        (JobState.RUNNING, "cpu-1@host took it."),
        (JobState.SUCCEEDED, "It is done."),
    )
    for seq, (state, sentence) in enumerate(told, 1):
        yield JobEvent(job=job, seq=seq, at=job.finished, state=state, sentence=sentence)


def _audit(of: Comparison) -> AuditEntry:
    return AuditEntry(team_id=of.team_id, user_id=of.created_by_id, verb="launched", subject="comparison",
                      subject_id=str(of.pk), subject_name=of.name, created=of.created)  # fmt: skip


def _run(comparison: Comparison, number: int, like: Run) -> Run:
    return Run(team_id=comparison.team_id, comparison=comparison, created=comparison.created, number=number,
               strategy=like.strategy, params=like.params, label=like.label)  # fmt: skip


def _figures(run: Run, like: Run, conditions: list[Conditions]) -> Figures:
    """Figures like the large comparison's, spread out so that sorting and charts have data."""
    alike = next(found for found in conditions if found.pair is run.comparison.pair)
    same = {field.attname: getattr(like.figures, field.attname) for field in Figures._meta.concrete_fields}
    same |= {"run_id": run.pk, "conditions_id": alike.pk}
    dice = random.Random(run.comparison.name)
    if like.figures.speedup:
        middle = like.figures.speedup * dice.gauss(1, 0.1)
        same |= {"speedup": middle, "speedup_low": middle * 0.95, "speedup_high": middle * 1.06,
                 "draft_share": min(1.0, like.figures.draft_share * dice.gauss(1, 0.1)),
                 "draft_passes": like.figures.draft_passes * dice.gauss(1, 0.1)}  # fmt: skip
    return Figures(**same)


# Samples and their traces --------------------------------------------------------------------------------------------


def _add_samples(runs: list[tuple[Run, list[Prompt]]], rounds: int) -> None:
    """Add many different database rows. Their traces are of a few kinds."""
    chunks: list[TraceChunk] = []

    def samples() -> Iterator[Sample]:
        for run, prompts in runs:
            kinds = _traces(run.label, rounds)
            for number, prompt in enumerate(prompts):
                packed, count, numbers = kinds[number % VARIETY]
                numbers = numbers | {"prompt": prompt.name, "category": prompt.category}
                sample = Sample(team_id=run.team_id, run=run, prompt=prompt, repeat=1, attempt=1, worker="cpu-1@host",
                                device="cpu", finished=timezone.now(), last_seq=count,
                                new_tokens=len(numbers["tokens"]), numbers=numbers,
                                tokens_per_s=len(numbers["tokens"]) / numbers["decode_ns"] * 1e9)  # fmt: skip
                chunks.append(TraceChunk(sample=sample, first_seq=1, last_seq=count, packed=packed))
                yield sample

    _save(samples())
    _save(chunks)


@functools.cache
def _traces(label: str, rounds: int) -> list[Trace]:
    (choice,) = parse_choices(label)
    dice = random.Random(label)
    made = []
    for _ in range(VARIETY):
        events, tokens = _decoded(choice.params.get("lookahead", 0), rounds, dice)
        numbers = sample_from_events(
            events, choice=choice, prompt="", category="", repeat=1, tokens=tokens, text=" ".join(map(str, tokens))
        ).to_dict() | {"audit": {"outcome": "identical"}}
        packed = pack([to_dict(event, seq) for seq, event in enumerate(events, 1)], {str(t): f" w{t}" for t in tokens})
        made.append((packed, len(events), numbers))
    return made


def _decoded(lookahead: int, rounds: int, dice: random.Random) -> tuple[list[Event], list[int]]:
    """Make a trace as from decoding: each draft is accepted up to its first wrong token, then the target's own token
    follows."""
    now = 900_000
    events: list[Event] = [Started(20, now)]
    tokens: list[int] = []
    for number in range(1, rounds + 1):
        drafted = [dice.randrange(4096) for _ in range(lookahead)]
        accepted = next((k for k in range(lookahead) if dice.random() > 0.75), lookahead)
        start, now = now, now + 268_000 * lookahead + dice.randrange(20_000)
        if lookahead:
            sure = tuple(round(dice.random(), 4) for _ in drafted)
            events.append(Drafted(number, len(tokens), lookahead, tuple(drafted), sure, (), "limit", "fresh",
                                  lookahead, start, now))  # fmt: skip
        begin, now = now, now + 1_839_000 + 210_000 * lookahead + dice.randrange(90_000)
        word, outcome = dice.randrange(4096), "bonus" if accepted == lookahead else "correction"
        events.append(Verified(number, accepted, word, outcome, begin - start, begin, now))
        tokens += [*drafted[:accepted], word]
    events.append(Finished("length", len(tokens), now))
    return events, tokens

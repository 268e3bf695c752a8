"""Comparisons decoded in worlds of tables, as if every pass took what a cost model says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.test import Client

from decoding.choice import parse_choices
from decoding.core.ending import Decoded
from decoding.dice.sampling import Sampling
from decoding.prices.cost_model import CostModel
from decoding.trace.events import Anticipated, Drafted, Event, Finished, Prompted, Started, Verified
from tests.kit import make
from tests.kit.teams import World as People
from tests.kit.worlds import World
from webapp.comparisons.models import Comparison
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.models import Pair

LENGTH = 60
COSTS = CostModel.of_one(target=(0.0, 10.0, 11.0, 12.0), draft=2.0, draft_round=0.5, catch_up=0.0, round=0.0)


Drafting = Callable[[int], float]


def usual(tokens: int) -> float:
    """Milliseconds that drafting so many tokens takes."""
    return COSTS.drafted(1, tokens)


def live(label: str, sampling: Sampling, seed: int, drafting: Drafting = usual) -> tuple[Decoded, list[Event]]:
    """Decode with a strategy, and return the text and its events with the times that COSTS says."""
    world = World.of_tables(24, seed=seed, sharpness=2.0, noise=0.5)
    world.end_tokens = frozenset({0})
    [choice] = parse_choices(label)
    decoded, recorder = world.run(choice, [1, 2, 3], sampling, seed)
    return decoded, list(timed(recorder.events, drafting))


def timed(events: Iterable[Event], drafting: Drafting = usual) -> Iterator[Event]:
    """As if every pass took what COSTS says, and drafts what `drafting` says of their length."""
    now, drafted, verified = 1_000_000, 0, 0
    for event in events:
        begun = now
        match event:
            case Started():
                yield dataclasses.replace(event, prefill_ns=now)
            case Drafted():
                drafted = event.verified
                now += round(1000 * drafting(event.passes if event.rows else drafted))
                yield dataclasses.replace(event, start_ns=begun, end_ns=now)
            case Verified():
                now += round(1000 * COSTS.verify(1, drafted + 1))
                yield dataclasses.replace(
                    event, start_ns=begun, end_ns=now, wait_ns=begun - verified if verified else 0
                )
                drafted, verified = 0, now
            case Anticipated():
                now += round(1000 * COSTS.draft(1) * event.passes)
                yield dataclasses.replace(event, start_ns=begun, end_ns=now, busy_ns=now - begun, opening_ns=0)
            case Finished():
                yield dataclasses.replace(event, end_ns=now)


def comparison(
    world: People,
    labels: str,
    *,
    prompts: int = 3,
    concurrency: Sequence[int] = (),
    pair: Pair | None = None,
    **sampling: Any,
) -> Comparison:
    """A comparison of these strategies that waits for a worker, and no other job."""
    strategies = [{"strategy": c.strategy, "params": dict(c.params)} for c in parse_choices(labels)]
    asked = {"max_new_tokens": LENGTH, **sampling}
    by = world.actor(world.bob)
    of = {"pair": pair or make.pair(by), "dataset": make.dataset(by, prompts)}
    made = make.comparison(by, **of, strategies=strategies, sampling=asked, concurrency=concurrency)
    Job.objects.filter(comparison=None).delete()
    return made


def decode(made: Comparison, drafting: Drafting = usual, prompts: bool = True, matches_text: bool = False) -> None:
    """Decode every sample for real, in a world of tables. Where text is matched, no event holds probabilities."""
    job, sampling = jobs.claim(worker="w1", queues=["cpu"]), Sampling(**{**made.sampling, "stop": ()})
    assert job
    for prompt, repeat, runs in make.remaining(made):
        for run in runs:
            decoded, events = live(run.choice.settings, sampling, prompt.number, drafting)
            if prompts and run.strategy == "autoregressive" and isinstance(events[0], Started):
                events.insert(1, Prompted((1, 2, 3), events[0].prefill_ns))
            if matches_text:
                events = [dataclasses.replace(e, confidence=()) if isinstance(e, Drafted) else e for e in events]
            make.decode_one(job, run, prompt, repeat, events, tokens=decoded.tokens, text="", category="")
    jobs.succeed(job=job)
    made.job.refresh_from_db()


def ask(client: Client, made: Comparison, query: str = "") -> Any:
    """Ask what would be with other settings, over REST."""
    return client.get(f"/api/v1/comparisons/{made.pk}/what-if/?{query}")

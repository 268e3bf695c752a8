"""Fill a database as a busy year would: `python -m benchmarks.service_load RUNS`. Prints tokens for it."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402  the settings come first
from django.utils import timezone  # noqa: E402

from tests.webapp import make  # noqa: E402
from webapp.accounts import actor as actors  # noqa: E402
from webapp.accounts import services as accounts  # noqa: E402
from webapp.accounts.models import Scope, Team  # noqa: E402
from webapp.comparisons.models import Comparison, Run, Sample, TraceChunk  # noqa: E402
from webapp.jobs.models import Job, State  # noqa: E402
from webapp.registry.models import LanguageModel  # noqa: E402

STRATEGIES = 8
ROUNDS = 100  # a run: three samples of some 33 rounds
TEAMS, MODELS = 50, 200
TOKENS = 20  # each may be used 1,200 times a minute


def save(rows: Any) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, 500)):
        type(batch[0]).objects.bulk_create(batch)


def fill(run_count: int) -> list[str]:
    owner = accounts.first_owner()
    by = actors.of_user(owner)
    save(Team(name=f"team {number}") for number in range(TEAMS - 1))
    first = make.comparison(by)
    target = first.pair.target
    save(
        LanguageModel(
            team=by.home, name=f"m{number}", source="upload", upload=target.upload, state="ready", facts=target.facts
        )
        for number in range(MODELS - 2)
    )
    jobs = [
        Job(team=by.home, created_by=owner, kind="comparison", queue="cpu", title=f"comparison {number}",
            state=State.SUCCEEDED, finished=timezone.now())
        for number in range(run_count // STRATEGIES)
    ]  # fmt: skip
    save(jobs)
    same = {"pair": first.pair, "dataset": first.dataset, "sampling": first.sampling, "limit": 3, "repeats": 1}
    comparisons = [Comparison(team=by.home, created_by=owner, name=job.title, job=job, **same) for job in jobs]
    save(comparisons)
    runs = [
        Run(comparison=comparison, number=k + 1, strategy="static" if k else "autoregressive",
            params={"lookahead": k} if k else {}, label=f"static:{k}" if k else "autoregressive")
        for comparison in comparisons for k in range(STRATEGIES)
    ]  # fmt: skip
    save(runs)
    prompts = list(first.dataset.prompts.all())
    rounds = ROUNDS // len(prompts)
    events = [make.events.to_dict(make.trace_of(runs[1])[1], seq) for seq in range(1, rounds + 1)]
    samples = [
        Sample(run=run, prompt=prompt, repeat=1, attempt=1, worker="w", device="cpu", finished=timezone.now(),
               last_seq=rounds, new_tokens=3, tokens_per_s=10.0, numbers=make.numbers_of(run, prompt))
        for run in runs for prompt in prompts
    ]  # fmt: skip
    save(samples)
    save(TraceChunk(sample=sample, first_seq=1, last_seq=rounds, events=events) for sample in samples)
    return [accounts.create_token(name=f"bench {n}", scope=Scope.SUBMIT, days=1, by=by)[1] for n in range(TOKENS)]


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    print(*fill(int(sys.argv[1])))

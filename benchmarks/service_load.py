"""Fill a database as a busy year would: `python -m benchmarks.service_load RUNS`. Prints tokens, then a session."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

import django

django.setup()

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402  the settings come first
from django.utils import timezone  # noqa: E402

from tests.webapp import make  # noqa: E402
from webapp.accounts import actor as actors  # noqa: E402
from webapp.accounts import services as accounts  # noqa: E402
from webapp.accounts.models import Scope, Team  # noqa: E402
from webapp.comparisons import figures  # noqa: E402
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample, TraceChunk  # noqa: E402
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
    comparisons = [
        Comparison(team=by.home, created_by=owner, name=job.title, job=job, summed=job.finished,
                   created=timezone.now() - timedelta(hours=number), **same)
        for number, job in enumerate(jobs)
    ]  # fmt: skip
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
    save(_figures(runs))
    save(TraceChunk(sample=sample, first_seq=1, last_seq=rounds, events=events) for sample in samples)
    tokens = [accounts.create_token(name=f"bench {n}", scope=Scope.SUBMIT, days=1, by=by)[1] for n in range(TOKENS)]
    return [*tokens, _session(owner)]


def _figures(runs: list[Run]) -> Iterator[Figures]:
    """The sums of one comparison for all, spread out so that sorting has something to do; on five machines."""
    figures.sum_up(runs[0].comparison)
    summed = {row.run.label: row for row in Figures.objects.select_related("run", "conditions")}
    one = Conditions.objects.get()
    machines = [
        one,
        *(
            Conditions(
                team=one.team,
                digest=str(n),
                question=one.question,
                pair=one.pair,
                limit=one.limit,
                dataset=one.dataset,
                sampling=one.sampling,
                device=f"machine {n}",
            )
            for n in range(4)
        ),
    ]
    save(machines[1:])
    Figures.objects.all().delete()
    dice = random.Random(0)
    for run in runs:
        spread = dice.gauss(1, 0.1)
        same = {f.attname: getattr(summed[run.label], f.attname) for f in Figures._meta.concrete_fields}
        same |= {"run_id": run.pk, "conditions_id": machines[hash(run.comparison_id) % 5].pk}
        if run.strategy != "autoregressive":
            middle = (1 + 0.5 * run.number - 0.05 * run.number**2) * spread / 1.6
            same |= {
                "speedup": middle,
                "speedup_low": middle * 0.95,
                "speedup_high": middle * 1.06,
                "draft_passes": run.number * dice.gauss(0.5, 0.05),
                "draft_share": 0.05 * run.number * spread,
                "noisy_count": dice.random() < 0.05,
            }
        yield Figures(**same)


def _session(user: Any) -> str:
    session = SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session.save()
    return str(session.session_key)


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    print(*fill(int(sys.argv[1])))

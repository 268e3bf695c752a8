"""Results of ended comparisons, one row per run: the report in columns that a database can sort.

The report stays the truth and can be made anew at any time; figures serve only where runs of many comparisons are shown
together.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from django.db import transaction
from django.db.models import F, Subquery, Sum

from decoding.public import DEFINITIONS_VERSION, ONE, Load
from webapp.comparisons.models import Comparison, Conditions, Exactness, Figures, Sample
from webapp.comparisons.report import report, so_far
from webapp.jobs.models import Job, JobState

WORST_FIRST = (Exactness.DIVERGENT, Exactness.TIE, Exactness.NOT_COMPARED, Exactness.IDENTICAL)
TIMES = ("queued_p95", "ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95", "gap_p95", "e2e_p95")
VERSIONS = ("drafthouse", "torch", "transformers")


def sum_up_ended(*, seconds: float) -> int:
    """Sum up comparisons that ended since their figures were made: as many as the time allows, at least one. Return how
    many."""
    deadline = time.monotonic() + seconds
    ended = Comparison.objects.filter(job__finished__isnull=False).exclude(summed=F("job__finished"))
    count = 0
    for comparison in ended.select_related("job").order_by("-created")[:1000]:
        sum_up(comparison)
        count += 1
        if time.monotonic() >= deadline:
            break
    return count


def verdict_of(comparison: Comparison) -> tuple[str, str]:
    """Return verdict and doubt, as its page says them: kept if it ended, so far while it runs."""
    if comparison.job.state != JobState.RUNNING:
        return comparison.verdict, comparison.doubt
    shown = so_far(comparison)
    return (shown["verdict"], shown["doubt"]) if shown["samples"] else ("", "")


def sum_up(comparison: Comparison) -> None:
    """Store figures of the runs that have finished samples. A retried comparison is summed up again when it ends
    again. The report may take seconds, so it is made before the transaction."""
    _store(comparison, report(comparison))


@transaction.atomic
def _store(comparison: Comparison, shown: dict[str, Any]) -> None:
    rows = {row["label"]: row for row in shown["strategies"] if row["sample_count"]}
    counted = Sample.objects.filter(run__comparison=comparison).finished().order_by().values_list("run_id")
    tokens = dict(counted.annotate(Sum("new_tokens")))
    Figures.objects.filter(run__comparison=comparison).delete()
    if rows:
        device, runs = next(iter(rows.values()))["runner"], list(comparison.runs.all())
        alike = {load: _conditions(comparison, device, load) for load in {run.load for run in runs}}
        versions = ", ".join(f"{name} {found}" for name in VERSIONS if (found := comparison.hardware.get(name)))
        Figures.objects.bulk_create(
            Figures(
                run=run,
                conditions=alike[run.load],
                versions=versions[:200],
                is_mixed=shown["is_mixed"],
                goodput=rows[run.label]["goodput"]["share"] if shown["objective"] else None,
                **_numbers(rows[run.label], tokens[run.pk]),
            )
            for run in runs
            if run.label in rows
        )
    words = {"verdict": shown["verdict"], "doubt": shown["doubt"]} if rows else {"verdict": "", "doubt": ""}
    ended = Job.objects.filter(pk=comparison.job_id).values(
        "finished"
    )  # as the database wrote it: SQLite compares texts
    unchanged = Comparison.objects.filter(pk=comparison.pk, job__attempt=comparison.job.attempt)
    unchanged.update(summed=Subquery(ended), **words)


def _numbers(row: dict[str, Any], tokens: int) -> dict[str, Any]:
    gain = row["speedup"] or {"ratio": None, "low": None, "high": None}
    same = ("sample_count", "noisy_count", "tokens_per_s", "mean_acceptance_length", "draft_acceptance_rate",
            "draft_share", "verify_share", "tokens_per_s_device", "tokens_per_s_user")  # fmt: skip
    return {
        **{name: row[name] for name in same},
        "speedup": gain["ratio"],
        "speedup_low": gain["low"],
        "speedup_high": gain["high"],
        "draft_passes": row["num_draft_passes"] / tokens if tokens and row["num_draft_passes"] is not None else None,
        "exactness": next((outcome for outcome in WORST_FIRST if row["audit"][outcome]), ""),
        **{time: _time(row, *time.split("_")) for time in TIMES},
    }


def _time(row: dict[str, Any], name: str, percentile: str) -> float | None:
    """A percentile in ms. Where one is 0 an earlier version did not measure it, unless nobody waited."""
    found = row[f"{name}_ms"]
    return found[percentile] if found and (found[percentile] or name == "queued") else None


def _conditions(comparison: Comparison, device: str, load: Load) -> Conditions:
    sampling = dict(comparison.sampling)
    if not sampling["temperature"]:  # greedy draws nothing
        for unused in ("seed", "dice", "top_k", "top_p"):
            sampling.pop(unused, None)
    parts: list[Any] = [
        DEFINITIONS_VERSION, comparison.pair_id, comparison.dataset_id, comparison.split, comparison.limit,
        sampling,
    ]  # fmt: skip
    if load != ONE:
        parts.append([load.concurrency, load.rate, *(["recorded"] if load.recorded else [])])
    found, _ = Conditions.objects.get_or_create(
        team_id=comparison.team_id,
        digest=hashlib.sha256(json.dumps([*parts, device], sort_keys=True, default=str).encode()).hexdigest(),
        defaults={
            "pair_id": comparison.pair_id,
            "dataset_id": comparison.dataset_id,
            "split": comparison.split,
            "limit": comparison.limit,
            "sampling": comparison.sampling,
            **Conditions.columns_of(load),
            "device": device[:400],
        },
    )
    return found

"""Comparisons under load: what may be asked for, what is stored, and a report by load."""

from __future__ import annotations

import csv
import io

import pytest
from django.db import IntegrityError, transaction

from decoding.core.load import ONE, Load
from decoding.measure.request_times import PER_OCTAVE
from tests.kit import make
from webapp.comparisons.figures import sum_up, verdict_of
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample
from webapp.comparisons.report import pinned, report
from webapp.core.problems import Invalid
from webapp.jobs.models import Job


@pytest.fixture
def ready(by):
    return make.pair(by), make.dataset(by, count=6)


def post(world, body):
    return world.script("submit").post("/api/v1/comparisons/", body)


@pytest.fixture
def decoded(by, ready):
    pair, dataset = ready
    made = make.comparison(by, pair=pair, dataset=dataset, concurrency=[1, 4], rate=[2.0], slo="ttft=500ms")
    make.decode_all(made)
    return made


def test_a_run_is_a_strategy_at_one_load_lightest_first(world, ready):
    asked = make.body(*ready, concurrency=[4, 1], rate=[2.5], slo="ttft=0.5s,tpot=50ms")
    shown = post(world, asked).json()
    assert [(run["label"], run["concurrency"], run["rate"]) for run in shown["runs"]] == [
        ("autoregressive", 1, None),
        ("static:4", 1, None),
        ("autoregressive @4", 4, None),
        ("static:4 @4", 4, None),
        ("autoregressive @2.5/s", None, 2.5),
        ("static:4 @2.5/s", None, 2.5),
    ]
    assert shown["slo"] == {"ttft_ms": 500.0, "tpot_ms": 50.0} and shown["job"]["total_count"] == 36
    assert [run.choice.load for run in Run.objects.all()][::2] == [ONE, Load(4), Load(rate=2.5)]


def test_a_clone_asks_for_the_same_loads_and_may_change_them(world, ready):
    first = post(world, make.body(*ready, concurrency=[2], rate=[4], slo="tpot=20ms")).json()
    again = world.script("submit").post(f"/api/v1/comparisons/{first['id']}/clone/", {}).json()
    other = world.script("submit").post(f"/api/v1/comparisons/{first['id']}/clone/", {"rate": []}).json()
    assert [run["label"] for run in again["runs"]] == [run["label"] for run in first["runs"]]
    assert again["slo"] == first["slo"]
    assert [run["label"] for run in other["runs"]] == ["autoregressive @2", "static:4 @2"]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"concurrency": [0]}, "concurrency", "from 1 to 256"),
        ({"rate": ["NaN"]}, "rate", "a number"),
        ({"rate": [2, 2.0000001]}, "rate", "named twice"),
        ({"slo": "fast"}, "slo", "write ttft=500ms,tpot=50ms"),
        (
            {"concurrency": [1, 2, 4, 8], "strategies": [{"strategy": "static", "params": {"lookahead": n}}
                                                         for n in range(1, 18)]},
            "concurrency", "18 strategies at 4 loads are 72 runs; the most is 64",
        ),
    ],
)  # fmt: skip
def test_a_load_that_cannot_be_is_refused_at_its_field_and_leaves_nothing(world, ready, changes, field, words):
    jobs = Job.objects.count()
    answer = post(world, make.body(*ready, **changes))
    problem = answer.json()
    assert answer.status_code == 400, problem
    assert field in str(problem.get("field") or problem.get("errors")), problem
    assert words in str(problem), problem
    assert not Comparison.objects.exists() and Job.objects.count() == jobs


def test_the_database_holds_no_run_with_two_loads_none_or_one_out_of_bounds(world):
    comparison = make.comparison(world.actor(world.bob))
    for columns in ({"concurrency": 4, "rate": 2.0}, {"concurrency": None}, {"concurrency": 257}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.filter(comparison=comparison).update(**columns)


def test_every_load_has_its_own_baseline_verdict_and_ranking(world, decoded):
    found = world.script("read").get(f"/api/v1/comparisons/{decoded.pk}/report/").json()
    rows = found["strategies"]
    assert [row["is_baseline"] for row in rows] == [True, False] * 3
    assert [row["settings"] for row in rows] == ["autoregressive", "static:4"] * 3
    assert [row["sample_count"] for row in rows] == [6] * 6
    assert [not row["why"]["refusal"] for row in rows] == [False, True] * 3
    assert [(row["concurrency"], row["rate"]) for row in rows][::2] == [(1, None), (4, None), (None, 2)]
    assert set(rows[0]["ttft_ms"]) == {"p50", "p95", "p99", "intervals"}
    assert [(load["concurrency"], load["rate"], load["baseline"]) for load in found["loads"]] == [
        (1, None, "autoregressive"),
        (4, None, "autoregressive @4"),
        (None, 2.0, "autoregressive @2/s"),
    ]
    assert found["loads"][1]["verdict"].startswith("static:4 @4 ")
    assert found["verdict"] == found["sentence"] and found["ranking"]["leader"] is None
    assert [crossing["strategy"] for crossing in found["crossovers"]] == ["static:4"]
    assert found["objective"] == {"ttft_ms": 500.0} and rows[3]["goodput"]["share"] == 1.0


def test_another_baseline_is_pinned_at_every_load(decoded):
    for named in ("static:4", "static:4 @4"):
        found = report(decoded, pinned(decoded, named))
        assert found["baseline"] == "static:4"
        assert [row["label"] for row in found["strategies"] if row["is_baseline"]] == [
            "static:4", "static:4 @4", "static:4 @2/s",
        ]  # fmt: skip
    with pytest.raises(Invalid, match="is called 'static:9'"):
        pinned(decoded, "static:9")


def test_arrivals_that_were_too_many_are_warned_of_but_not_those_that_chance_made_rarer_than_their_rate(world, ready):
    comparison = make.comparison(world.actor(world.bob), pair=ready[0], dataset=ready[1], rate=[1000])
    make.decode_all(comparison)

    def warnings(apart_ms: int, queued_ms: int) -> str:
        """Report with requests so far apart, of which each waits so much longer than the one before it."""
        for run in comparison.runs.all():
            for number, sample in enumerate(run.samples.order_by("prompt__number")):
                timing = {"arrived_ns": number * apart_ms * 10**6, "queued_ns": number * queued_ms * 10**6}
                sample.numbers["timing"] = {**sample.numbers["timing"], **timing}
                sample.save()
        return " ".join(report(comparison)["warnings"])

    assert "static:4 @1000/s: requests arrived at 1,000/s and 1/s were answered" in warnings(1, 1000)
    assert warnings(2, 0) == ""


def test_runs_of_unlike_loads_are_never_compared(decoded):
    for sample in Sample.objects.all():
        sample.numbers["timing"]["gaps"] = [[20 * PER_OCTAVE, 3]]  # three gaps of 2^20 ns
        sample.save()
    sum_up(decoded)
    assert {str(conditions.load) for conditions in Conditions.objects.all()} == {
        "1 at a time", "4 at once", "2 requests/s",
    }  # fmt: skip
    for figures in Figures.objects.select_related("run", "conditions"):
        assert figures.goodput == 1.0 and figures.e2e_p95 >= figures.ttft_p95 >= figures.queued_p95 >= 0
        assert figures.gap_p95 == pytest.approx(1.05, abs=0.01)
        assert figures.conditions.load == figures.run.load
        assert figures.tokens_per_s_user > 0 and figures.ttft_p95 >= figures.ttft_p50 > 0


def test_runs_and_lists_tell_loads_apart(world, decoded):
    sum_up(decoded)
    script = world.script("read")
    found = script.get("/api/v1/runs/?concurrency_from=2&ordering=-tokens_per_s_device").json()["results"]
    assert {run["concurrency"] for run in found} == {4} and len(found) == 2
    assert found[0]["figures"]["tokens_per_s_device"] >= found[1]["figures"]["tokens_per_s_device"]
    table = b"".join(script.get("/api/v1/runs.csv").streaming_content).decode()
    [first, *_] = csv.DictReader(io.StringIO(table))
    waits = {"queued_p95", "ttft_p50", "tpot_p95", "gap_p95", "e2e_p95"}
    assert {"concurrency", "rate", "tokens_per_s_user", "goodput", *waits} <= set(first)
    slow = script.get("/api/v1/runs/?e2e_p95_from=1000000").json()["results"]
    assert slow == [] and script.get("/api/v1/runs/?goodput_from=1").json()["results"]
    decoded.refresh_from_db()
    said = report(decoded)
    assert verdict_of(decoded) == (said["sentence"], said["doubt"])


def test_a_plan_divides_the_time_by_the_users_and_waits_for_the_last_arrival(world, ready, decoded):
    def minutes(**load):
        return world.script("submit").post(
            "/api/v1/comparisons/?dry_run=true", make.body(*ready, sampling={"max_new_tokens": 1_000_000}, **load)
        ).json()["minutes"]  # fmt: skip

    assert minutes(concurrency=[4]) < minutes()
    assert minutes(rate=[0.01]) >= 2 * 6 / 0.01 / 60  # two strategies, six prompts each

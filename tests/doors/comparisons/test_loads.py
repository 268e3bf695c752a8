"""Comparisons under load: what may be asked for, what is stored, and a report by load."""

from __future__ import annotations

import json

import pytest

from decoding.core.load import ONE, Load
from decoding.measure.latency import overloaded
from decoding.measure.sample import PER_OCTAVE
from decoding.measure.summary import devices_in, works_at_once
from tests.kit import make
from webapp.comparisons import frames
from webapp.comparisons.figures import sum_up, verdict_of
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample
from webapp.comparisons.report import pinned, report
from webapp.comparisons.report_schema import REPORT
from webapp.core.problems import Invalid
from webapp.registry import prompt_sets


@pytest.fixture
def ready(by):
    return make.pair(by), make.dataset(by, count=6)


@pytest.fixture
def log(by):
    asked = [{"role": "user", "content": "a"}]
    rows = [{"id": str(n), "messages": asked, "timestamp": 1000 + 2 * n} for n in range(5)]
    text = "\n".join(map(json.dumps, rows))
    return prompt_sets.add_dataset(name="log", file_name="log.jsonl", text=text, by=by)


def post(world, body, path=""):
    return world.script("submit").post(f"/api/v1/comparisons/{path}", body)


@pytest.fixture
def decoded(by, ready):
    pair, dataset = ready
    made = make.comparison(by, pair=pair, dataset=dataset, concurrency=[1, 4], rate=[2.0], slo="ttft=500ms")
    make.decode_all(made)
    return made


def test_a_run_is_a_strategy_at_one_load_lightest_first_and_a_clone_asks_for_the_same(world, ready):
    asked = make.body(*ready, concurrency=[4, 1], rate=[2.5], slo="ttft=0.5s,tpot=50ms")
    shown = post(world, asked).json()
    assert [(run["label"], run["concurrency"], run["rate"]) for run in shown["runs"]][::2] == [
        ("autoregressive", 1, None), ("autoregressive @4", 4, None), ("autoregressive @2.5/s", None, 2.5),
    ]  # fmt: skip
    assert shown["slo"] == {"ttft_ms": 500.0, "tpot_ms": 50.0} and shown["job"]["total_count"] == 36
    assert [run.choice.load for run in Run.objects.all()][::2] == [ONE, Load(4), Load(rate=2.5)]
    clone = f"{shown['id']}/clone/"
    Run.objects.filter(strategy="static").update(params={"lookahead": 4, "of an earlier version": False})
    again = post(world, {}, clone).json()
    assert [run["label"] for run in again["runs"]] == [run["label"] for run in shown["runs"]]
    assert (again["slo"], again["cloned_from"]) == (shown["slo"], shown["id"]) and again["job"]["queue"] == "cpu"
    other = post(world, {"rate": [], "concurrency": [2], "repeats": 3}, clone).json()
    assert [run["label"] for run in other["runs"]] == ["autoregressive @2", "static:4 @2"] and other["repeats"] == 3


def test_a_log_is_replayed_at_the_speeds_that_are_asked_for(world, by, log):
    asked = make.body(make.pair(by), log, recorded=[2, 1], rate=[0.5])
    shown = post(world, asked).json()
    assert [(run["label"], run["rate"], run["recorded"]) for run in shown["runs"]][::2] == [
        ("autoregressive @0.5/s", 0.5, False),
        ("autoregressive @0.5/s recorded", 0.5, True),
        ("autoregressive @1/s recorded", 1.0, True),
    ]
    assert Run.objects.last().load == Load(rate=1.0, recorded=True)
    clone = post(world, {}, f"{shown['id']}/clone/").json()
    assert [run["label"] for run in clone["runs"]] == [run["label"] for run in shown["runs"]]


def test_a_load_that_cannot_be_is_refused_at_its_field_and_leaves_nothing(world, ready, log):
    many = [{"strategy": "static", "params": {"lookahead": n}} for n in range(1, 18)]
    for changes, field, words in (
        ({"concurrency": [0]}, "concurrency", "greater than or equal to 1"),
        ({"rate": [2, 2.0000001]}, "rate", "named twice"),
        ({"slo": "fast"}, "slo", "write ttft=500ms,tpot=50ms"),
        ({"concurrency": [1, 2, 4, 8], "strategies": many}, "concurrency", "72 runs; the most is 64"),
        ({"recorded": [1]}, "recorded", "6 of 6 prompts have no timestamp"),
        ({"recorded": [1e-6], "dataset": str(log.pk)}, "recorded", "Choose another speed"),
    ):
        answer = post(world, {**make.body(*ready), **changes})
        assert answer.status_code == 400 and field in answer.json()["field"], answer.json()
        assert words in answer.content.decode()
    assert not Comparison.objects.exists()


def test_every_load_has_its_own_baseline_verdict_and_ranking(world, decoded):
    found = world.script("read").get(f"/api/v1/comparisons/{decoded.pk}/report/").json()
    rows = found["strategies"]
    assert set(found) == set(REPORT["properties"])
    assert set(rows[0]) <= set(REPORT["properties"]["strategies"]["items"]["properties"])
    assert [row["is_baseline"] for row in rows] == [True, False] * 3
    assert [row["settings"] for row in rows] == ["autoregressive", "static:4"] * 3
    assert [not row["why"]["refusal"] for row in rows] == [False, True] * 3
    assert [(load["concurrency"], load["rate"], load["baseline"]) for load in found["loads"]] == [
        (1, None, "autoregressive"), (4, None, "autoregressive @4"), (None, 2.0, "autoregressive @2/s"),
    ]  # fmt: skip
    assert found["loads"][1]["verdict"].startswith("static:4 @4 ")
    assert found["verdict"] == found["sentence"] and found["ranking"]["leader"] is None
    assert found["objective"] == {"ttft_ms": 500.0} and rows[3]["goodput"]["share"] == 1.0
    for named in ("static:4", "static:4 @4"):
        other = report(decoded, pinned(decoded, named))
        baselines = [row["label"] for row in other["strategies"] if row["is_baseline"]]
        assert baselines == ["static:4", "static:4 @4", "static:4 @2/s"]
    with pytest.raises(Invalid, match="is called 'static:9'"):
        pinned(decoded, "static:9")


def test_runs_of_unlike_loads_are_never_compared_and_lists_tell_them_apart(world, decoded):
    for sample in Sample.objects.all():
        sample.numbers["timing"]["gaps"] = [[20 * PER_OCTAVE, 3]]  # three gaps of 2^20 ns
        sample.save()
    sum_up(decoded)
    assert {str(conditions.load) for conditions in Conditions.objects.all()} == {
        "1 at a time", "4 at once", "2 requests/s",
    }  # fmt: skip
    for figures in Figures.objects.select_related("run", "conditions"):
        assert figures.goodput == 1.0 and figures.e2e_p95 >= figures.ttft_p95 >= figures.queued_p95 >= 0
        assert figures.gap_p95 == pytest.approx(1.05, abs=0.01) and figures.conditions.load == figures.run.load
        assert figures.tokens_per_s_user > 0 and figures.ttft_p95 >= figures.ttft_p50 > 0
    script = world.script("read")
    found = script.get("/api/v1/runs/?concurrency_from=2&ordering=-tokens_per_s_device").json()["results"]
    assert [run["concurrency"] for run in found] == [4, 4]
    assert found[0]["figures"]["tokens_per_s_device"] >= found[1]["figures"]["tokens_per_s_device"]
    assert script.get("/api/v1/runs/?e2e_p95_from=1000000").json()["results"] == []
    decoded.refresh_from_db()
    said = report(decoded)
    assert verdict_of(decoded) == (said["sentence"], said["doubt"])


def test_a_page_draws_speeds_of_decoding_for_one_user_and_of_whole_requests_under_load(decoded):
    Sample.objects.update(numbers=Sample.objects.first().numbers | {"prefill_ns": 10**9, "decode_ns": 2 * 10**9})
    timing = {"arrived_ns": 0, "queued_ns": 3 * 10**9}
    for sample in Sample.objects.all():
        sample.numbers["timing"] = {**sample.numbers["timing"], **timing}
        sample.save()
    rows = [frames.row(sample) for sample in frames.drawn(Sample.objects.filter(run__strategy="static"))]
    assert {row["span"][1] for row in rows} == {3 * 10**9}
    for row in rows:
        sample = Sample.objects.get(pk=row["id"])
        under_load = sample.new_tokens / 6  # 3 s in the queue, 3 s served
        expected = sample.tokens_per_s if sample.run.load == ONE else under_load
        assert row["speed"] == pytest.approx(expected, rel=1e-5)


def test_a_plan_divides_the_time_by_the_users_and_waits_for_the_last_arrival(world, ready, decoded):
    def minutes(**load):
        asked = make.body(*ready, sampling={"max_new_tokens": 1_000_000}, **load)
        return post(world, asked, "?dry_run=true").json()["minutes"]

    assert minutes(concurrency=[4]) < minutes()
    assert minutes(rate=[0.01]) >= 2 * 6 / 0.01 / 60  # two strategies, six prompts each


def test_arrivals_that_were_too_many_are_warned_of():
    row = {"label": "static:4 @1000/s", "arrived_per_s": 1000.0, "served_per_s": 1.0}
    [warning] = overloaded([row, {**row, "served_per_s": 901.0}])
    assert warning.startswith("static:4 @1000/s: requests arrived at 1,000/s and 1/s were answered")


@pytest.mark.parametrize(
    ("words", "count", "at_once"),
    [
        ("2 cores: target on 0, draft on 1", 2, True),
        ("12 cores, one of them for the draft; this system does not let us choose which", 12, True),
        ("cuda:0", 1, False),
        ("cuda:0 for the target, core 1 for the draft", 2, True),
        ("cuda:0, shared by target and draft on two streams", 1, True),
    ],
)
def test_devices_are_counted_as_the_engine_states_them(words, count, at_once):
    assert (devices_in(words), works_at_once(words)) == (count, at_once)


def test_the_hardware_of_each_strategy_stands_beside_its_figures(world, decoded):
    waits = "1 core; memory holds the caches of 2 texts of 512 tokens, so other requests wait"
    both = "2 cores: target on 0, draft on 1"
    whole = {row["label"]: row for row in report(decoded)["strategies"]}
    assert whole["static:4"]["per_device"] is None, "no worker said what it had"
    stated = {"autoregressive": "1 core", "static:4": both, "autoregressive @4": waits, "static:4 @4": both}
    Comparison.objects.update(hardware={"by_strategy": stated})
    rows = {row["label"]: row for row in report(Comparison.objects.get())["strategies"]}
    assert rows["autoregressive"]["per_device"] == 1.0
    assert rows["static:4"]["per_device"] == pytest.approx(rows["static:4"]["speedup"]["ratio"] / 2)
    halved = whole["static:4 @4"]["tokens_per_s_device"] / 2
    assert rows["static:4 @4"]["tokens_per_s_device"] == pytest.approx(halved)
    page = world.page(world.bob).get(f"/comparisons/{decoded.pk}/").content.decode()
    assert "<summary>Hardware</summary>" in page and waits in page and both in page and "Per device" in page

"""Runs of all comparisons: which are shown, in what order, what may be compared, what is kept."""

from __future__ import annotations

import csv
import html
import io
import re

import pytest

from decoding.choice import parse_choices
from tests.kit import make
from tests.kit.service import reading_in_transactions
from webapp.comparisons import figures
from webapp.comparisons.across import columns, filters
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample
from webapp.jobs import services as jobs
from webapp.jobs.models import Job


def ended(by, labels="static:4", **changes):
    """A comparison that is done, and whose figures are made."""
    strategies = [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in parse_choices(labels)]
    comparison = make.comparison(by, **{"strategies": strategies, **changes})
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    return comparison


@pytest.fixture
def ready(by):
    return {"pair": make.pair(by), "dataset": make.dataset(by)}


def page_of(world, **query):
    return world.page(world.bob).get("/runs/", query).content.decode()


def shown(world, **query):
    return re.findall('title="([^"]*)" data-row>', page_of(world, **query))


def test_figures_are_the_reports_own_and_the_api_and_the_csv_list_what_the_page_lists(world, by, ready):
    comparison = ended(by, **ready)
    report = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    for row in report["strategies"]:
        kept = Figures.objects.get(run__label=row["label"])
        assert kept.speedup == row["speedup"]["ratio"] and kept.speedup_low == row["speedup"]["low"]
        assert kept.tokens_per_s == row["tokens_per_s"] and kept.draft_share == row["draft_share"]
    assert Figures.objects.get(run__strategy="static").draft_passes == 3 * 2 / (3 * 3)
    script = world.script("read")
    query = "strategy=static&speedup_from=1.5&ordering=-speedup"
    [row] = script.get(f"/api/v1/runs/?{query}").json()["results"]
    assert (row["label"], row["comparison_name"], row["figures"]["sample_count"]) == ("static:4", "one", 3)
    assert script.get(f"/api/v1/runs/{row['id']}/").json() == row
    answer = script.get(f"/api/v1/runs.csv?{query}")
    [line] = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
    assert line["run"] == "static:4" and float(line["speedup"]) == row["figures"]["speedup"]
    assert (
        f"/api/v1/runs/?{query.replace('&', '&amp;')}" in world.page(world.bob).get(f"/runs/?{query}").content.decode()
    )
    assert script.get("/api/v1/runs/?speedup_from=nan").status_code == 400
    assert world.api(world.charlie).get("/api/v1/runs/").json()["count"] == 0
    assert "static:4" not in world.page(world.charlie).get("/runs/").content.decode()
    world.page(world.bob).post(f"/comparisons/{comparison.pk}/bin/")
    assert shown(world) == []


def test_a_run_is_called_by_its_classifier_s_name_not_by_an_id(world, by, ready):
    kept = make.classifier(by, ready["pair"], "Ours & theirs")
    ended(by, f"disco:classifier={kept.pk},cap=9", **ready)
    assert f"</svg>{html.escape('disco:priced,cap=9 with Ours & theirs')}<" in page_of(world)
    Run.objects.filter(strategy="disco").update(params={"classifier": str(ready["pair"].pk), "cap": 9})
    assert f"</svg>{Run.objects.get(strategy='disco').label}<" in page_of(world), "its classifier is gone"


def test_a_strategy_is_found_by_the_name_that_it_had_in_an_earlier_version(world, by, ready):
    ended(by, "suffix:0.3,memory=true,static:4", **ready)
    api = world.api(world.bob)
    [run] = api.get("/api/v1/runs/?strategy=suffix-memory").json()["results"]
    assert run["label"] == "suffix:0.3,memory=true"
    assert api.get("/api/v1/comparisons/?strategy=suffix-memory").json()["count"] == 1
    report = api.get(f"/api/v1/comparisons/{run['comparison']}/report/?baseline=suffix-memory:0.3").json()
    assert report["baseline"] == run["label"]


def test_figures_are_made_once_after_each_end(world, by, ready):
    comparison = ended(by, **ready)
    assert figures.sum_up_ended(seconds=60) == 0
    Job.objects.filter(pk=comparison.job.pk).update(state="failed")
    jobs.retry(job=Job.objects.get(pk=comparison.job.pk), by=by)
    assert figures.sum_up_ended(seconds=60) == 0, "while it runs again there is no new end"
    Sample.objects.filter(run__strategy="static").delete()
    jobs.succeed(job=jobs.claim(worker="w", queues=["cpu"]))
    assert figures.sum_up_ended(seconds=60) == 1
    assert [row.run.strategy for row in Figures.objects.all()] == ["autoregressive"]
    jobs.cancel(job=make.comparison(by, **ready).job, by=by)
    assert [figures.sum_up_ended(seconds=60) for _ in range(2)] == [1, 0], "one without samples has no figures"
    assert Figures.objects.count() == 1 and shown(world, state="cancelled") == ["autoregressive", "static:4"]


def test_only_runs_under_the_same_conditions_are_called_alike(world, by, ready):
    ended(by, **ready)
    ended(by, "heuristic", **ready, sampling={"max_new_tokens": 8, "seed": 5})  # no draws
    assert Conditions.objects.count() == 1 and "different conditions" not in page_of(world)
    for number, change in enumerate(({"sampling": {"max_new_tokens": 8, "temperature": 1.0}}, {"limit": 2}), 2):
        ended(by, **ready, **change)
        assert Conditions.objects.count() == number
    assert "different conditions" in page_of(world)


def test_conditions_keep_their_letter_whatever_is_filtered_and_the_letter_leads_to_their_runs(world, by, ready):
    """They are numbered by age. Another device makes other conditions."""
    ended(by, **ready, limit=2)
    second = ended(by, **ready)
    Sample.objects.filter(run__comparison=second).update(device="another")
    Comparison.objects.filter(pk=second.pk).update(summed=None)
    figures.sum_up_ended(seconds=60)

    def links(**query):
        found = r'<a href="\?(?:[^"]*;)?conditions=([^"]*)" title="[^"]*">(\w+)</a>'
        return dict(re.findall(found, page_of(world, **query)))

    letters, other = links(), Conditions.objects.get(device="another")
    assert sorted(letters.values()) == ["A", "C"] and letters[str(other.pk)] == "C"  # B has no runs any more
    assert links(device="another") == {str(other.pk): "C"}
    page = page_of(world, conditions=str(other.pk))
    assert set(re.findall('href="([^"]*)"[^>]* data-row>', page)) == {f"/comparisons/{second.pk}/"}
    assert "under one set of conditions: pair · 3 prompts of prompts · greedy" in page


def test_every_column_is_drawn_whatever_a_run_has_in_it(world, by, ready):
    ended(by, **ready)
    make.comparison(by, **ready)
    Comparison.objects.update(name='<b>"one"')
    Figures.objects.filter(run__number=2).update(noisy_count=1, exactness="divergent", speedup_low=None)
    body = page_of(world, column=list(columns.COLUMNS)).split("<tbody>")[-1].split("</tbody>")[0]
    rows = [row.split("</th>")[1] for row in body.split("<tr")[1:]]
    assert [row.count("<td") for row in rows] == [len(columns.COLUMNS)] * 4
    assert {"lookahead", "threshold"} <= columns.COLUMNS.keys() - set(columns.USUAL)
    assert "&lt;b&gt;&quot;one&quot;" in body and "<b>&quot;" not in body
    assert ">diverges<" in rows[3] and "1 of 3" in rows[3] and "too few prompts" in rows[3] and "baseline" in rows[2]
    chosen = world.page(world.bob).get("/runs/", {"column": ["device", "lookahead"]}).context["shown"]
    assert [column.name for column in chosen] == ["lookahead", "device"]


def test_runs_are_sought_sorted_filtered_and_bounded_by_their_address(world, by, ready):
    ended(by, "static:2,static:4,static:8", **ready)
    for rank, run in enumerate(Run.objects.order_by("number")):
        Figures.objects.filter(run=run).update(speedup=1 + rank / 10, noisy_count=rank == 3)
    assert shown(world, ordering="-speedup") == ["static:8", "static:4", "static:2", "autoregressive"]
    for ordering in ("lookahead", "-lookahead"):
        assert shown(world, ordering=ordering)[-1] == "autoregressive", "what has no value comes last"
    page = page_of(world, ordering="-speedup")
    assert page.count('aria-sort="descending"') == 1 and "ordering=speedup" in page
    asked = [world.api(world.bob).get("/api/v1/runs/", {"concurrency_to": most}) for most in ("0.5", str(10**30))]
    assert [answer.status_code for answer in asked] == [400, 200]
    for query, labels in (
        ({"q": "IC:4"}, ["static:4"]),
        ({"speedup_from": "1.05", "speedup_to": "1.25"}, ["static:2", "static:4"]),
        ({"strategy": "static", "lookahead_from": "3"}, ["static:4", "static:8"]),
        ({"noisy": "true"}, ["static:8"]),
        ({"state": "failed"}, []),
        ({"since": "2099-01-01"}, []),
    ):
        assert shown(world, **query, ordering="label") == labels, query
    assert len(shown(world, until="2099-01-01", pair=str(ready["pair"].pk), device="cpu", noisy="false")) == 3
    nonsense = {"ordering": "--x", "speedup_from": "nan", "pair": "x", "since": "x", "page": "x", "column": "x"}
    assert len(shown(world, **nonsense, q="\0")) == 4
    rows = filters.runs(by)
    assert [ordering for ordering in filters.ORDERINGS if len(filters.ordered(rows, ordering)) != 4] == []
    for name in filters.RANGES:
        assert filters.filtered(rows, {name: "0.5"}).count() <= 4, name


def test_the_list_the_page_and_the_api_say_the_same_verdict_and_the_same_doubt(world, by, ready):
    comparison = ended(by, "static,oracle", **ready)
    client, api = world.page(world.bob), world.api(world.bob)
    listed = lambda: {row.pk: words for row, *words in client.get("/comparisons/").context["rows"]}  # noqa: E731
    said = api.get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    row = api.get(f"/api/v1/comparisons/{comparison.pk}/").json()
    page = client.get(f"/comparisons/{comparison.pk}/").context["report"]
    assert (row["verdict"], row["doubt"]) == (page["verdict"], page["doubt"]) == (said["verdict"], said["doubt"])
    running = make.comparison(by, **ready)
    assert listed() == {comparison.pk: [said["verdict"], said["doubt"]], running.pk: ["", ""]}
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(running))
    for run in runs:
        make.decode_one(job, run, prompt, repeat)
    said = api.get(f"/api/v1/comparisons/{running.pk}/report/").json()
    assert said["verdict"].startswith("So far after 1 of 3 prompts, static:4 ran at 2.00 times")
    assert listed()[running.pk] == [said["verdict"], said["doubt"]]


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_samples_are_summed_up(world):
    make.decode_all(make.comparison(world.actor(world.bob)))
    with reading_in_transactions('"comparisons_sample"."numbers"') as reads:
        figures.sum_up_ended(seconds=60)
    assert reads and not any(reads) and Figures.objects.exists()

"""Runs of all comparisons side by side: which are shown, in what order, what may be compared, what is kept."""

from __future__ import annotations

import csv
import html
import importlib
import io
import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from decoding.choice import parse_choices
from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.comparisons import figures
from webapp.comparisons.across import charts, columns, filters
from webapp.comparisons.models import Comparison, Conditions, Figures, Run, Sample, SavedView
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.studies.classifiers import services as classifying


def ended(by, **changes):
    """A comparison that is done, and whose figures are made."""
    comparison = make.comparison(by, **changes)
    make.decode_all(comparison)
    figures.sum_up_ended(seconds=60)
    return comparison


@pytest.fixture
def ready(by):
    return {"pair": make.pair(by), "dataset": make.dataset(by)}


def parsed(label):
    [choice] = parse_choices(label)
    return {"strategy": choice.strategy, "params": choice.params}


def shown(world, **query):
    return re.findall('title="([^"]*)" data-row>', world.page(world.bob).get("/runs/", query).content.decode())


def test_figures_are_the_reports_own_and_the_api_and_the_csv_list_what_the_page_lists(world, ready):
    comparison = ended(world.actor(world.bob), **ready)
    report = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    for row in report["strategies"]:
        kept = Figures.objects.get(run__label=row["label"])
        assert kept.speedup == row["speedup"]["ratio"] and kept.speedup_low == row["speedup"]["low"]
        assert kept.tokens_per_s == row["tokens_per_s"] and kept.draft_share == row["draft_share"]
        assert kept.sample_count == 3
    assert Figures.objects.get(run__strategy="static").draft_passes == 3 * 2 / (3 * 3)
    script = world.script("read")
    query = "strategy=static&speedup_from=1.5&ordering=-speedup"
    rows = script.get(f"/api/v1/runs/?{query}").json()["results"]
    assert [row["label"] for row in rows] == ["static:4"]
    assert rows[0]["figures"]["speedup"] == pytest.approx(2.0, rel=0.5) and rows[0]["comparison_name"] == "one"
    answer = script.get(f"/api/v1/runs.csv?{query}")
    lines = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [line["run"] for line in lines] == ["static:4"]
    assert float(lines[0]["speedup"]) == rows[0]["figures"]["speedup"]
    page = world.page(world.bob).get(f"/runs/?{query}").content.decode()
    assert f"/api/v1/runs/?{query.replace('&', '&amp;')}" in page
    assert script.get("/api/v1/runs/?speedup_from=nan").status_code == 400
    assert script.get("/api/v1/runs/line/?cost=gold").json()["field"] == "cost"
    assert world.api(world.charlie).get("/api/v1/runs/").json()["count"] == 0
    assert "static:4" not in world.page(world.charlie).get("/runs/").content.decode()
    world.page(world.bob).post(f"/comparisons/{comparison.pk}/bin/")
    assert shown(world) == []


def test_a_run_is_called_by_its_classifier_s_name_not_by_an_id(world, by, ready):
    kept = classifying.add_classifier(
        name="Ours & theirs", pair=ready["pair"], upload=make.upload(by, make.card()), by=by
    )
    ended(by, **ready, strategies=[{"strategy": "disco", "params": {"classifier": str(kept.pk), "cap": 9}}])
    Figures.objects.update(noisy_count=0)
    client, name = world.page(world.bob), "disco:priced,cap=9 with Ours & theirs"
    for address, place in (("/runs/", "in_words"), (f"/pairs/{ready['pair'].pk}/history/", "sentence")):
        answer = client.get(address)
        assert name in answer.context[place]
        assert f"</svg>{html.escape(name)}" in answer.content.decode()
    runs = [*client.get("/runs/").context["chart"]["runs"], *answer.context["history"]["points"]]
    assert {run["name"] for run in runs} == {"autoregressive", name}
    Run.objects.filter(strategy="disco").update(params={"classifier": str(ready["pair"].pk), "cap": 9})
    assert Run.objects.get(strategy="disco").label in client.get("/runs/").context["in_words"], "one that is gone"


def test_the_interval_that_a_baseline_once_had_is_forgotten(world, ready):
    ended(world.actor(world.bob), **ready)
    own = Figures.objects.filter(run__strategy="autoregressive")
    assert list(own.values_list("speedup", "speedup_low", "speedup_high")) == [(1, None, None)]
    own.update(speedup_low=1, speedup_high=1)
    importlib.import_module("webapp.comparisons.migrations.0002_no_interval_of_the_baseline").forget(apps, None)
    assert list(own.values_list("speedup_low", "speedup_high")) == [(None, None)]
    assert world.api(world.bob).get("/api/v1/runs/line/").json()["sentence"].count("too few prompts") == 1


def test_runs_of_strategies_that_are_settings_now_get_their_names_and_earlier_names_still_find_them(world, ready):
    labels = ["suffix:memory=true", "static:4", "suffix:0.3,cap=6"]
    comparison = ended(world.actor(world.bob), **ready, strategies=[parsed(label) for label in labels])
    before = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    now, earlier = "suffix:0.3,memory=true", "suffix-memory:0.3"
    own = Run.objects.filter(label=now)
    own.update(strategy="suffix-memory", params={"threshold": 0.3, "cap": 20}, label=earlier)
    for sample in Sample.objects.filter(run__label=earlier):
        sample.numbers["strategy"] = earlier
        sample.save()
    comparison.hardware = {"by_strategy": {earlier: "2 cores", "static:4": "2 cores"}}
    comparison.save()
    importlib.import_module("webapp.comparisons.migrations.0003_fewer_strategies").rename(apps, None)
    comparison.refresh_from_db()
    assert comparison.hardware["by_strategy"] == {now: "2 cores", "static:4": "2 cores"}
    api = world.api(world.bob)
    after = api.get(f"/api/v1/comparisons/{comparison.pk}/report/?baseline={earlier}").json()
    assert after["baseline"] == now
    rows = [{row["label"]: row["tokens_per_s"] for row in one["strategies"]} for one in (before, after)]
    assert rows[0] == rows[1]
    for query in ("suffix", "suffix-memory"):
        found = api.get(f"/api/v1/runs/?strategy={query}").json()["results"]
        assert {run["label"] for run in found} == {now, "suffix:0.3,cap=6"}
        assert api.get(f"/api/v1/comparisons/?strategy={query}").json()["results"]


def test_figures_are_made_once_after_each_end(world, ready):
    comparison = ended(world.actor(world.bob), **ready)
    assert figures.sum_up_ended(seconds=60) == 0
    Job.objects.filter(pk=comparison.job.pk).update(state="failed")
    jobs.retry(job=Job.objects.get(pk=comparison.job.pk), by=world.actor(world.bob))
    assert figures.sum_up_ended(seconds=60) == 0, "while it runs again there is no new end"
    Sample.objects.filter(run__strategy="static").delete()
    jobs.succeed(job=jobs.claim(worker="w", queues=["cpu"]))
    assert figures.sum_up_ended(seconds=60) == 1
    assert [row.run.strategy for row in Figures.objects.all()] == ["autoregressive"]


def test_a_comparison_without_samples_has_no_figures_and_is_not_asked_again(world, ready):
    comparison = make.comparison(world.actor(world.bob), **ready)
    jobs.cancel(job=comparison.job, by=world.actor(world.bob))
    assert figures.sum_up_ended(seconds=60) == 1
    assert figures.sum_up_ended(seconds=60) == 0
    assert not Figures.objects.exists()
    assert shown(world, state="cancelled") == ["autoregressive", "static:4"]


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({}, True),
        ({"sampling": {"max_new_tokens": 8, "seed": 5}}, True),  # greedy: nothing is drawn
        ({"sampling": {"max_new_tokens": 8, "temperature": 1.0}}, False),
        ({"sampling": {"max_new_tokens": 9}}, False),
        ({"limit": 2}, False),
        ({"strategies": [{"strategy": "heuristic"}]}, True),
    ],
)
def test_only_runs_under_the_same_conditions_are_called_alike(world, by, ready, change, alike):
    ended(by, **ready)
    ended(by, **ready, **change)
    assert Conditions.objects.count() == (1 if alike else 2)
    page = world.page(world.bob).get("/runs/").content.decode()
    assert ("different conditions" in page) is not alike


def test_another_device_is_another_condition_and_the_page_says_so(world, by, ready):
    ended(by, **ready)
    ended(by, **ready)
    second = Comparison.objects.latest("created")
    Sample.objects.filter(run__comparison=second).update(device="another")
    Comparison.objects.filter(pk=second.pk).update(summed=None)
    figures.sum_up_ended(seconds=60)
    page = world.page(world.bob).get("/runs/").content.decode()
    assert "2 different conditions: they differ in device or number format." in page
    one = Conditions.objects.get(device="another")
    answer = world.page(world.bob).get("/runs/", {"conditions": str(one.pk)})
    opened = re.findall('href="([^"]*)"[^>]* data-row>', answer.content.decode())
    assert set(opened) == {f"/comparisons/{second.pk}/"}
    assert {run["comparison"] for run in answer.context["chart"]["runs"]} == {"one"}


def test_no_filter_changes_the_letter_of_conditions(world, by, ready):
    ended(by, **ready, limit=2)
    ended(by, **ready)
    ended(by, **ready, strategies=[{"strategy": "heuristic"}])
    letters = lambda **query: {  # noqa: E731
        group.conditions.pk: group.letter for group in world.page(world.bob).get("/runs/", query).context["groups"]
    }
    everything, some = letters(), letters(strategy="heuristic")
    assert sorted(everything.values()) == ["A", "B"]
    assert len(some) == 1 and some.items() <= everything.items()
    assert list(some.values()) == ["B"]


def test_runs_are_counted_by_their_conditions_whether_all_are_shown_or_some_and_those_in_the_bin_are_not(world, ready):
    by, client = world.actor(world.bob), world.page(world.bob)
    ended(by, **ready, limit=2)
    kept, gone = (ended(by, **ready) for _ in range(2))
    counts = lambda **query: [group.count for group in client.get("/runs/", query).context["groups"]]  # noqa: E731
    assert counts() == counts(pair=str(ready["pair"].pk)) == [4, 2]
    client.post(f"/comparisons/{gone.pk}/bin/")
    assert counts() == counts(pair=str(ready["pair"].pk)) == [2, 2]
    client.post(f"/comparisons/{kept.pk}/bin/")
    assert counts() == counts(pair=str(ready["pair"].pk)) == [2]
    client.post(f"/comparisons/{gone.pk}/restore/")
    assert counts() == counts(pair=str(ready["pair"].pk)) == [2, 2]
    assert client.get("/runs/").context["groups"][0].conditions.limit == 3  # of as many runs the newest
    assert world.page(world.charlie).get("/runs/").context["groups"] == []


def test_every_column_is_drawn_whatever_a_run_has_in_it(world, ready):
    ended(world.actor(world.bob), **ready)
    make.comparison(world.actor(world.bob), **ready)
    Comparison.objects.update(name='<b>"one"')
    Figures.objects.filter(run__number=2).update(noisy_count=1, exactness="divergent", speedup_low=None)
    page = world.page(world.bob).get("/runs/", {"column": list(columns.COLUMNS)}).content.decode()
    body = page.split("<tbody>")[-1].split("</tbody>")[0]
    rows = [row.split("</th>")[1] for row in body.split("<tr")[1:]]
    assert [row.count("<td") for row in rows] == [len(columns.COLUMNS)] * 4
    assert "&lt;b&gt;&quot;one&quot;" in body and "<b>&quot;" not in body
    assert ">diverges<" in rows[3] and "1 of 3" in rows[3] and "too few prompts" in rows[3] and "baseline" in rows[2]


def test_runs_are_sought_sorted_filtered_and_paged_by_their_address(world, by, ready):
    strategies = [{"strategy": "static", "params": {"lookahead": k}} for k in (2, 4, 8)]
    ended(by, **ready, strategies=strategies)
    for rank, run in enumerate(Run.objects.order_by("number")):
        Figures.objects.filter(run=run).update(speedup=1 + rank / 10, noisy_count=rank == 3)
    assert shown(world, ordering="-speedup") == ["static:8", "static:4", "static:2", "autoregressive"]
    assert shown(world, ordering="lookahead")[-1] == "autoregressive", "what has no value comes last"
    assert shown(world, ordering="-lookahead")[-1] == "autoregressive"
    assert shown(world, strategy="static", ordering="label") == ["static:2", "static:4", "static:8"]
    assert shown(world, q="IC:4") == ["static:4"]
    assert shown(world, speedup_from="1.05", speedup_to="1.25", ordering="label") == ["static:2", "static:4"]
    assert shown(world, lookahead_from="3", ordering="label") == ["static:4", "static:8"]
    assert shown(world, noisy="true") == ["static:8"]
    assert len(shown(world, noisy="false")) == 3
    assert shown(world, state="failed") == []
    assert shown(world, since="2099-01-01") == []
    assert len(shown(world, until="2099-01-01", pair=str(ready["pair"].pk), device="cpu")) == 4
    nonsense = {"ordering": "--x", "speedup_from": "nan", "pair": "x", "since": "x", "page": "x", "column": "x"}
    assert len(shown(world, **nonsense, q="\0")) == 4


def test_columns_are_chosen_in_the_address(world, ready):
    ended(world.actor(world.bob), **ready)
    page = world.page(world.bob).get("/runs/", {"column": ["device", "lookahead"]})
    assert [column.name for column in page.context["shown"]] == ["lookahead", "device"]
    heads = page.content.decode().split("<thead>")[-1].split("</thead>")[0]
    assert "Hardware" in heads and "Accepted" not in heads


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by how many rows there are")
@pytest.mark.parametrize(
    "address", ["/runs/", "/api/v1/runs/?offset=1", "/api/v1/samples/", "/api/v1/samples/?offset=1"]
)
def test_a_list_is_found_and_counted_in_an_index_of_the_team_alone(world, ready, address):
    ended(world.actor(world.bob), **ready)
    with CaptureQueriesContext(connection) as asked:
        assert world.page(world.bob).get(address).status_code == 200
    counts_or_ids = r'SELECT (COUNT|"comparisons_(run|sample)"."id" AS "pk" F)'
    found = [query["sql"] for query in asked if re.match(counts_or_ids, query["sql"])]
    assert len(found) == 2
    for query in found:
        with connection.cursor() as cursor:
            steps = cursor.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
        assert "USING COVERING INDEX" in steps[0][3] and "_by_team" in steps[0][3]


def test_runs_and_samples_of_before_get_their_team_and_runs_the_time_of_their_launch(world, ready):
    comparison = ended(world.actor(world.bob), **ready)
    Run.objects.update(created=comparison.created - timedelta(days=1), team=world.other_team)
    Sample.objects.update(team=world.other_team)
    importlib.import_module("webapp.comparisons.migrations.0004_team_of_runs_and_samples").fill(apps, None)
    assert {(run.team_id, run.created) for run in Run.objects.all()} == {(comparison.team_id, comparison.created)}
    assert set(Sample.objects.values_list("team_id", flat=True)) == {comparison.team_id}


@pytest.mark.parametrize(
    ("points", "on_line"),
    [
        ([("a", 0.0, 1.0), ("b", 1.0, 1.5), ("c", 2.0, 1.4), ("d", 3.0, 1.6)], {"a", "b", "d"}),
        ([("a", 1.0, 1.0), ("b", 1.0, 1.2)], {"b"}),
        ([("a", 1.0, 1.2), ("b", 2.0, 1.2)], {"a"}),
        ([], set()),
    ],
)
def test_on_the_line_stands_what_nothing_beats_in_both(points, on_line):
    assert charts.front(points) == on_line


def test_bounds_and_noisy_runs_do_not_stand_on_the_line_unless_noise_is_asked_for(world, ready):
    strategies = [{"strategy": "static"}, {"strategy": "oracle"}]
    ended(world.actor(world.bob), **ready, strategies=strategies)
    Figures.objects.filter(run__strategy="oracle").update(speedup=9, draft_passes=0.01)
    Figures.objects.filter(run__strategy="static").update(noisy_count=1)

    def line(**query):
        runs = world.api(world.bob).get("/api/v1/runs/line/", query).json()["runs"]
        return {run["label"] for run in runs if run["is_on_line"]}

    assert line() == {"autoregressive"}
    assert line(noisy="true") == {"static:4"}
    Figures.objects.update(noisy_count=0)
    assert line() == {"autoregressive", "static:4"}
    Figures.objects.filter(run__strategy="static").update(exactness="divergent")
    assert line() == {"autoregressive"}


def test_of_what_was_measured_often_the_last_is_judged_and_not_the_luckiest(world, by, ready):
    lucky = ended(by, **ready)
    Figures.objects.filter(run__comparison=lucky, run__strategy="static").update(speedup=9)
    last = ended(by, **ready)
    runs = world.api(world.bob).get("/api/v1/runs/line/").json()["runs"]
    on_line = {run["id"] for run in runs if run["is_on_line"]}
    assert on_line == {str(run.pk) for run in last.runs.all()}
    assert sum(run["is_newest"] for run in runs) == 2


def test_the_history_of_a_pair_marks_where_what_it_ran_on_changed(world, by, ready):
    ended(by, **ready)
    second = ended(by, **ready)
    ended(by, **ready, limit=1)
    Comparison.objects.filter(pk=second.pk).update(summed=None, hardware={"torch": "9.9"})
    Sample.objects.filter(run__comparison=second).update(device="another")
    figures.sum_up_ended(seconds=60)
    told = world.api(world.bob).get(f"/api/v1/pairs/{ready['pair'].pk}/history/").json()
    assert [question["count"] for question in told["questions"]] == [4, 2]
    assert [point["label"] for point in told["points"]] == ["autoregressive", "static:4"] * 2
    assert [(change["kind"], change["after"]) for change in told["changes"]] == [("device", "another")]
    assert "static:4 went from" in told["sentence"] and "hardware changed to another" in told["sentence"]
    page = world.page(world.bob).get(f"/pairs/{ready['pair'].pk}/history/").content.decode()
    assert "torch 9.9" in page and page.count("too few prompts</td>") == 2  # static:4, twice; a baseline needs none


def test_a_view_is_kept_for_the_team_and_written_down(world):
    answer = world.page(world.bob).post("/runs/views/", {"name": "fast", "query": "speedup_from=1.2&page=3"})
    assert answer["Location"] == "/runs/?speedup_from=1.2"
    assert ">fast</a>" in world.page(world.victor).get("/runs/").content.decode()
    assert world.api(world.charlie).get("/api/v1/views/").json()["count"] == 0
    world.page(world.alice).post("/runs/views/", {"name": "fast", "query": "column=speedup"})
    assert SavedView.objects.get().query == "column=speedup"
    assert AuditEntry.objects.filter(verb="saved", subject="view").count() == 2


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("nonsense=1", "has no filter 'nonsense'"),
        ("pair=x", "pair:"),
        ("speedup_from=much", "speedup_from:"),
        ("ordering=luck", "ordering is 'luck'"),
        ("column=luck", "column is 'luck'"),
        ("cost=luck", "cost is 'luck'"),
        ("%ff=1", "cannot be read as the query"),
        ("q=" + "x" * 1999, "2000"),
    ],
)
def test_a_view_that_could_not_be_opened_is_refused(world, query, told):
    answer = world.api(world.bob).post("/api/v1/views/", {"name": "v", "query": query})
    assert answer.status_code == 400 and told in answer.json()["detail"]
    page = world.page(world.bob).post("/runs/views/", {"name": "v", "query": query})
    assert page.status_code == 422
    assert not SavedView.objects.exists()


def test_a_view_goes_to_the_bin_and_comes_back_unless_its_name_is_taken(world):
    client, api = world.page(world.bob), world.api(world.bob)
    client.post("/runs/views/", {"name": "v", "query": "q=a"})
    view = SavedView.objects.get()
    assert "Undo" in client.post(f"/runs/views/{view.pk}/bin/", follow=True).content.decode()
    assert client.post(f"/runs/views/{view.pk}/restore/")["Location"] == "/runs/?q=a"
    client.post(f"/runs/views/{view.pk}/bin/")
    client.post("/runs/views/", {"name": "v", "query": "q=b"})
    refused = api.post(f"/api/v1/views/{view.pk}/restore/")
    assert refused.status_code == 409 and refused.json()["code"] == "name-taken"
    other = api.post("/api/v1/views/", {"name": "w", "query": ""}).json()
    assert api.patch(f"/api/v1/views/{other['id']}/", {"name": "v"}).json()["code"] == "name-taken"
    assert api.patch(f"/api/v1/views/{other['id']}/", {}).status_code == 400
    assert api.patch(f"/api/v1/views/{other['id']}/", {"query": "q=c"}).json()["query"] == "q=c"


def test_every_column_can_be_sorted_and_every_axis_bounded(world, ready):
    ended(world.actor(world.bob), **ready)
    rows = filters.runs(world.actor(world.bob))
    for ordering in filters.ORDERINGS:
        assert len(filters.ordered(rows, ordering)) == 2, ordering
    for name in filters.RANGES:
        assert filters.filtered(rows, {name: "0.5"}).count() <= 2, name


def test_a_parameter_that_is_left_open_is_a_word_in_the_table_and_no_point_on_its_axis(world, ready):
    branches = ("auto", 3, 8)
    strategies = [{"strategy": "ssd", "params": {"branches": each, "placement": "in-turn"}} for each in branches]
    ended(world.actor(world.bob), **ready, strategies=strategies)
    page = world.page(world.bob).get("/runs/", {"column": "branches", "strategy": "ssd", "ordering": "number"})
    told = [re.sub(r"<[^>]*>", " ", row).split() for row in page.context["rows"]]
    assert [each in words for each, words in zip(("auto", "3", "8"), told, strict=True)] == [True] * 3
    chart = world.api(world.bob).get("/api/v1/runs/line/", {"strategy": "ssd"}).json()
    assert [run["values"]["branches"] for run in chart["runs"]] == [None, 3, 8]
    assert shown(world, branches_from="2", branches_to="4") == ["ssd:3,branches=3,placement=in-turn"]


def test_the_list_the_page_and_the_api_say_the_same_verdict_and_the_same_doubt(world, ready):
    comparison = ended(world.actor(world.bob), **ready, strategies=[{"strategy": "static"}, {"strategy": "oracle"}])
    waiting = make.comparison(world.actor(world.bob), **ready)
    client, api = world.page(world.bob), world.api(world.bob)
    said = api.get(f"/api/v1/comparisons/{comparison.pk}/report/").json()
    told = {row.pk: words for row, *words in client.get("/comparisons/").context["rows"]}
    assert told == {comparison.pk: [said["verdict"], said["doubt"]], waiting.pk: ["", ""]}
    row = api.get(f"/api/v1/comparisons/{comparison.pk}/").json()
    assert (row["verdict"], row["doubt"]) == (said["verdict"], said["doubt"])
    page = client.get(f"/comparisons/{comparison.pk}/").context
    assert (page["report"]["verdict"], page["report"]["doubt"]) == (said["verdict"], said["doubt"])


def test_the_list_says_of_a_running_comparison_what_its_page_says_so_far(world, ready):
    running = make.comparison(world.actor(world.bob), **ready)
    job = jobs.claim(worker="w1", queues=["cpu"])
    listed = lambda: world.page(world.bob).get("/comparisons/").context["rows"]  # noqa: E731
    assert [words for _, *words in listed()] == [["", ""]]
    prompt, repeat, runs = next(make.remaining(running))
    for run in runs:
        make.decode_one(job, run, prompt, repeat)
    said = world.api(world.bob).get(f"/api/v1/comparisons/{running.pk}/report/").json()
    assert said["verdict"].startswith("So far after 1 of 3 prompts, static:4 ran at 2.00 times")
    assert [words for _, *words in listed()] == [[said["verdict"], said["doubt"]]]


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_samples_are_summed_up(world):
    comparison = make.comparison(world.actor(world.bob))
    make.decode_all(comparison)
    reads: list[bool] = []

    def watch(execute, sql, params, many, context):
        if sql.startswith("SELECT") and '"comparisons_sample"."numbers"' in sql:
            reads.append(connection.in_atomic_block)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        figures.sum_up_ended(seconds=60)
    assert reads and not any(reads) and Figures.objects.exists()

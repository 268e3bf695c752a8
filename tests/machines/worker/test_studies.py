"""Oracle analyses and plans from the queue: worked out by a real engine, stored whole, cancelled, refused in words."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from decoding.choice import Choice
from decoding.ssd.transport.draft_process import divide
from tests.kit import make
from tests.kit.comparisons import succeeded
from tests.kit.processes import family
from tests.machines.worker.conftest import prompts
from webapp.core.problems import NotFound
from webapp.entries import services as entries
from webapp.jobs import services as jobs
from webapp.jobs.kinds import Kind
from webapp.jobs.models import JobEvent
from webapp.registry.models import Dataset
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PLAN, PROJECTION
from webapp.studies.models import Classifier, Study
from worker.studies import classifiers

SHORT = {"max_new_tokens": 24, "ignore_eos": True}


@pytest.fixture
def words(team) -> Dataset:
    return prompts(team, [f"w{n + 1} w{n + 2} w{n + 3}" for n in range(6)])


@pytest.fixture
def launch(team, pair, words):
    def launch_one(kind: Kind, dataset: Dataset = words, **changes: Any) -> Study:
        asked = {"sampling": SHORT, **changes}
        return studies.launch(kind=kind, pair=pair, dataset=dataset, by=team, **asked)

    return launch_one


@pytest.mark.smoke
def test_an_oracle_counts_what_the_draft_could_have_done(launch, make_worker):
    study = launch(ORACLE, lookahead=3)
    make_worker().look()
    found = succeeded(study).document
    assert found["format"] == "drafthouse.oracle/1"
    assert (found["samples"], found["one"]["lookahead"]) == (6, 3)
    assert found["oracle"]["target"] == sum(found["histogram"]) <= found["static"]["target"]
    assert sum(found["one"]["lookaheads"]) + found["one"]["oracle"]["target"] >= 24
    assert found["hardware"]["device"] == "cpu"
    assert (study.job.done_count, study.job.total_count) == (6, 6)
    told = list(JobEvent.objects.filter(job=study.job).values_list("sentence", flat=True))
    assert "Recording: 1 of 6." in told


def test_a_plan_promises_and_keeps_count_of_how_the_promise_was_kept(launch, make_worker, engine):
    study = launch(PLAN, limit=3)
    make_worker().look()
    found = succeeded(study).document
    settings = {Choice.of(row).kind: row for row in found["settings"]}
    ran = ("static", "heuristic", "threshold", "lookup", "suffix", "suffix:memory=true", "hybrid", "tree", "ssd")
    bounds = ("oracle", "best-source")
    assert set(settings) == {*ran, *bounds}
    assert all(settings[name]["measured"]["prompts"] == settings[name]["audit"]["identical"] == 3 for name in ran)
    assert [settings[name]["measured"] for name in bounds] == [None, None]
    fastest = max(row["tokens_per_s"] for row in found["predictions"] if row["strategy"] == "static")
    assert settings["static"]["tokens_per_s"] == fastest
    assert {one["engine"] for one in found["elsewhere"]} == {"transformers", "vLLM", "SGLang", "llama.cpp"}
    exported = Counter(one["of"].split(":")[0] for one in found["elsewhere"])
    assert exported == {"static": 4, "threshold": 2, "lookup": 2}
    simulated = 12 + 2 * bool(divide())  # where the draft can work beside the target, the other placement too
    assert study.job.done_count == study.job.total_count == 3 + 3 * 14 + 3 * simulated + 3 * (1 + len(ran))
    assert set(family(engine.pid)) <= {engine.pid}  # the draft beside the target has ended
    assert found["noise"] == "" or found["noise"].startswith(("Other programs used", "The processor's clock"))


def test_a_plan_judges_the_pairs_classifiers_where_they_were_not_trained(team, pair, launch, make_worker):
    learnt_on = prompts(team, [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1}" for n in range(30)])
    classifying.train_classifier(name="first", pair=pair, dataset=learnt_on, max_new_tokens=48, by=team)
    elsewhere = prompts(team, [f"w{5 * n % 90 + 1} w7" for n in range(4)])
    Dataset.objects.filter(pk=elsewhere.pk).update(name="elsewhere")
    study = launch(PLAN, dataset=elsewhere)
    make_worker().look()
    classifier = Classifier.objects.get()
    found = succeeded(study).document
    disco = next(row for row in found["settings"] if row["strategy"] == "disco")
    assert disco["params"]["classifier"] == str(classifier.pk)
    assert disco["audit"]["identical"] == 4
    [judged] = found["classifiers"]
    assert judged["classifier"] == str(classifier.pk) and set(judged["speedups"]) == {"threshold", "priced"}


def test_a_projection_simulates_every_strategy_at_the_prices_of_its_card(launch, make_worker):
    study = launch(PROJECTION, limit=2, card="two-cores-epyc")
    make_worker().look()
    found = succeeded(study).document
    assert (found["format"], found["card"]["name"]) == ("drafthouse.projection/1", "100M with 11M on one core each")
    assert {row["strategy"] for row in found["settings"]} >= {"autoregressive", "static", "threshold", "lookup", "ssd"}
    assert set(found) == set(make.STUDIES["projection"])  # which the page's tests rest on
    assert study.job.done_count == study.job.total_count == 2


def test_cancelling_a_study_leaves_nothing_and_trying_again_finishes_it(launch, make_worker, team, engine):
    study = launch(ORACLE)
    hands = make_worker()
    engine.after(2, lambda: jobs.cancel(job=study.job, by=team))
    hands.look()
    study.refresh_from_db()
    assert (study.job.state, study.document) == ("cancelled", None)
    jobs.retry(job=study.job, by=team)
    hands.look()
    assert succeeded(study).document["samples"] == 6


def test_the_chosen_classifier_comes_first_and_a_deleted_one_is_not_replaced(team, pair, launch):
    files = make.card()
    older, newer = (
        classifying.add_classifier(name=name, pair=pair, upload=make.upload(team, files), by=team)
        for name in ("older", "newer")
    )
    attempt: Any = SimpleNamespace(insist=lambda ask: ask())
    assert classifiers(attempt, launch(PLAN)) == [newer, older]
    chosen = launch(PLAN, classifier=older)
    assert classifiers(attempt, chosen) == [older, newer]
    entries.bin(entry=older, by=team)
    with pytest.raises(NotFound, match="was deleted"):
        classifiers(attempt, chosen)

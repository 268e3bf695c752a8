"""A worker with a pair that has no draft: real models in a real engine process."""

from __future__ import annotations

import pytest

from decoding.choice import Choice
from tests.worker.conftest import model, prompts
from webapp.comparisons.models import Comparison
from webapp.comparisons.report import report
from webapp.comparisons.what_if.asking import what_if
from webapp.registry import lengths
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies import services as studies
from webapp.studies.kinds import ORACLE, PLAN, PROJECTION
from webapp.studies.serializers import CARDS


@pytest.fixture
def pair(team, checkpoints) -> Pair:
    return registry.add_pair(name="alone", target=model(team, checkpoints["target"], "target"), by=team)


def test_a_comparison_of_a_target_alone_runs_to_its_end_and_answers_what_if(launch, make_worker):
    comparison = launch(strategies=[{"strategy": "autoregressive"}, {"strategy": "lookup"}], tokens=48)
    make_worker().look()
    comparison.refresh_from_db()
    assert comparison.job.state == "succeeded", comparison.job.reason
    rows = report(comparison)["strategies"]
    assert [(row["sample_count"], row["audit"]["identical"]) for row in rows] == [(2, 2), (2, 2)]
    answer = what_if(comparison, "suffix", {})
    assert answer["speedup"]["prompts"] == 2 and answer["num_draft_passes"] == 0
    assert [bool(row["simulated"]) for row in answer["measured"]] == [True]


def test_its_prompts_are_counted_with_the_targets_tokenizer(team, pair, make_worker):
    counted = lengths.count(dataset=prompts(team, ["w1 w2 w3", "w4"]), pair=pair, by=team)
    make_worker(queue="light").look()
    counted.refresh_from_db()
    assert counted.job.state == "succeeded", counted.job.reason
    assert counted.document["total"] == 4
    assert counted.document["context"]["target"] > 3 and counted.document["context"]["draft"] is None


def test_an_engine_refuses_a_strategy_whose_draft_is_missing(team, checkpoints, pair, launch, make_worker):
    Pair.objects.filter(pk=pair.pk).update(draft=model(team, checkpoints["draft"], "draft"))
    pair.refresh_from_db()
    comparison = launch(strategies=[{"strategy": "static", "params": {"lookahead": 3}}])
    Pair.objects.filter(pk=pair.pk).update(draft=None)  # as an edited database would have it
    make_worker().look()
    job = Comparison.objects.get().job
    assert (job.state, comparison.job_id) == ("failed", job.pk)
    assert "static:3 needs a draft model, and this pair has none." in job.reason


def studied(make_worker, **asked) -> dict:
    study = studies.launch(sampling={"max_new_tokens": 24}, **asked)
    make_worker().look()
    study.refresh_from_db()
    study.job.refresh_from_db()
    assert study.job.state == "succeeded", study.job.reason
    assert study.job.done_count == study.job.total_count
    return study.document


def test_an_oracle_and_a_projection_of_a_target_alone_are_about_copies(team, pair, make_worker):
    """They used to be refused."""
    asked = {"pair": pair, "dataset": prompts(team, ["w1 w2 w3 w1 w2 w3", "w4 w5"]), "by": team}
    found = studied(make_worker, kind=ORACLE, **asked)
    assert set(found["sources"]) == {"lookup:10", "suffix:0.3", "suffix:0.3,memory=true", "best of each position"}
    assert found["oracle"]["target"] == sum(found["histogram"]) and found["oracle"]["draft"] == 0
    found = studied(make_worker, kind=PROJECTION, card=CARDS[0][0], **asked)
    assert {Choice.of(row).kind for row in found["settings"]} == {
        "autoregressive",
        "lookup",
        "suffix",
        "suffix:memory=true",
    }
    assert found["map"] is None and found["left_out"]["hybrid"] == "it needs a draft, and none was recorded"


def test_a_plan_of_a_target_alone_finds_the_settings_of_copies(team, pair, make_worker):
    study = studies.launch(
        kind=PLAN,
        pair=pair,
        dataset=prompts(team, ["w1 w2 w3 w1 w2 w3", "w4 w5"]),
        by=team,
        loads=[1, 2],
        sampling={"max_new_tokens": 12},
    )
    make_worker().look()
    study.refresh_from_db()
    study.job.refresh_from_db()
    assert study.job.state == "succeeded", study.job.reason
    found = study.document
    settings = {Choice.of(row).kind: row for row in found["settings"]}
    assert set(settings) == {"lookup", "suffix", "suffix:memory=true"}
    assert all(row["measured"]["prompts"] == row["audit"]["identical"] == 2 for row in settings.values())
    assert found["trees"] is None and found["classifiers"] == [] and found["at_load"]["planned"] is None
    assert {row["users"] for row in found["at_load"]["rows"]} == {1, 2}
    assert study.job.done_count == study.job.total_count

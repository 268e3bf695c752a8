"""A worker with a pair that has no draft, or whose draft matches text (SLEM): real models in a real engine process."""

from __future__ import annotations

import json

import pytest

from decoding.choice import Choice
from decoding.vocabularies.shared import ABOUT_COPIES
from tests.kit.comparisons import succeeded
from tests.worker.conftest import model, prompts
from webapp.comparisons.models import Comparison
from webapp.comparisons.report import report
from webapp.comparisons.what_if.asking import what_if
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PLAN, PROJECTION
from webapp.studies.models import Classifier
from webapp.studies.serializers import CARDS

COPIES = {"lookup", "suffix", "suffix:memory=true"}


@pytest.fixture
def pair(team, checkpoints) -> Pair:
    return registry.add_pair(name="alone", target=model(team, checkpoints["target"], "target"), by=team)


@pytest.fixture
def matched(team, checkpoints) -> Pair:
    words = json.loads(checkpoints["draft"]["tokenizer.json"])
    vocab = words["model"]["vocab"]
    vocab["w5"], vocab["w6"] = vocab["w6"], vocab["w5"]
    draft = {**checkpoints["draft"], "tokenizer.json": json.dumps(words).encode()}
    models = {"target": model(team, checkpoints["target"], "target"), "draft": model(team, draft, "draft")}
    return registry.add_pair(name="slem", **models, other_tokenizer="slem", by=team)


def test_a_comparison_of_a_target_alone_runs_to_its_end_and_answers_what_if(launch, make_worker):
    comparison = launch(strategies=[{"strategy": "autoregressive"}, {"strategy": "lookup"}], tokens=48)
    make_worker().look()
    rows = report(succeeded(comparison))["strategies"]
    assert [(row["sample_count"], row["audit"]["identical"]) for row in rows] == [(2, 2), (2, 2)]
    answer = what_if(comparison, "suffix", {})
    assert answer["speedup"]["prompts"] == 2 and answer["num_draft_passes"] == 0
    assert [bool(row["simulated"]) for row in answer["measured"]] == [True]


def test_an_engine_refuses_a_strategy_whose_draft_is_missing(team, checkpoints, pair, launch, make_worker):
    Pair.objects.filter(pk=pair.pk).update(draft=model(team, checkpoints["draft"], "draft"))
    pair.refresh_from_db()
    launch(strategies=[{"strategy": "static", "params": {"lookahead": 3}}])
    Pair.objects.filter(pk=pair.pk).update(draft=None)  # as an edited database would have it
    make_worker().look()
    job = Comparison.objects.get().job
    assert job.state == "failed" and "static:3 needs a draft model, and this pair has none." in job.reason


@pytest.mark.parametrize("which", ["pair", "matched"])
def test_studies_are_about_copies_and_say_why(which, team, make_worker, client, request):
    """They used to be refused."""
    pair, is_matched = request.getfixturevalue(which), which == "matched"
    dataset, hands = prompts(team, ["w1 w2 w3 w1 w2 w3", "w4 w5"]), make_worker()
    client.force_login(team.user)
    found = []
    for asked in ({"kind": ORACLE}, {"kind": PLAN, "loads": [1, 2]}, {"kind": PROJECTION, "card": CARDS[0][0]}):
        study = studies.launch(pair=pair, dataset=dataset, by=team, sampling={"max_new_tokens": 12}, **asked)
        hands.look()
        found.append(succeeded(study).document)
        assert study.job.done_count == study.job.total_count
        assert found[-1]["draft_left_out"] == (ABOUT_COPIES if is_matched else "")
        shown = client.get(f"/studies/{study.pk}/").content.decode()
        assert ("this pair matches text (SLEM), so this is about copies alone." in shown) is is_matched
    oracle, plan, projection = found
    assert set(oracle["sources"]) == {"lookup:10", "suffix:0.3", "suffix:0.3,memory=true", "best of each position"}
    assert oracle["oracle"]["target"] == sum(oracle["histogram"]) and oracle["oracle"]["draft"] == 0
    settings = {Choice.of(row).kind: row for row in plan["settings"]}
    assert set(settings) == COPIES
    assert all(row["measured"]["prompts"] == row["audit"]["identical"] == 2 for row in settings.values())
    assert plan["classifiers"] == [] and plan["at_load"]["planned"] is None
    assert {row["users"] for row in plan["at_load"]["rows"]} == {1, 2}
    assert {Choice.of(row).kind for row in projection["settings"]} == {"autoregressive", *COPIES}
    assert projection["map"] is None
    assert projection["left_out"]["hybrid"] == "it needs a draft, and none was recorded"


def test_a_classifier_of_copies_is_trained_and_judges_them_beside_a_draft(team, matched, launch, make_worker, client):
    lines = [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1} w{n + 1} w{2 * n + 1}" for n in range(24)]
    asked = {"dataset": prompts(team, lines), "design": "sources", "max_new_tokens": 72}
    training = classifying.train_classifier(name="copies", pair=matched, by=team, **asked)
    hands = make_worker()
    hands.look()
    succeeded(training)
    made = Classifier.objects.get()
    assert (made.card["pair"], made.card["draft_left_out"]) == ([], ABOUT_COPIES)
    client.force_login(team.user)
    assert "so this is about copies alone." in client.get(f"/classifiers/{made.pk}/").content.decode()
    judged = {"strategy": "suffix", "params": {"classifier": "newest"}}
    comparison = launch(pair=matched, strategies=[{"strategy": "static"}, judged])
    hands.look()
    succeeded(comparison)

"""A worker with a pair that has no draft, or whose draft matches text (SLEM): real models in a real engine process."""

from __future__ import annotations

import json

import pytest

from decoding.vocabularies.shared import ABOUT_COPIES
from tests.kit.comparisons import succeeded
from tests.machines.worker.conftest import model, prompts
from webapp.comparisons.report import report
from webapp.comparisons.what_if.asking import what_if
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies import services as studies
from webapp.studies.kinds import ORACLE


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


def test_a_study_of_a_pair_that_matches_text_is_about_copies_and_says_why(team, matched, make_worker, client):
    asked = {"sampling": {"max_new_tokens": 12}, "dataset": prompts(team, ["w1 w2 w3 w1 w2 w3", "w4 w5"])}
    study = studies.launch(kind=ORACLE, pair=matched, by=team, **asked)
    make_worker().look()
    assert succeeded(study).document["draft_left_out"] == ABOUT_COPIES
    client.force_login(team.user)
    shown = client.get(f"/studies/{study.pk}/").content.decode()
    assert "this pair matches text (SLEM), so this is about copies alone." in shown

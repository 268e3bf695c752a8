"""A worker with a pair whose draft matches text (SLEM): studies and trainings take the target alone, and say so."""

from __future__ import annotations

import json

import pytest

from decoding.choice import Choice
from decoding.vocabularies.scores import ABOUT_COPIES
from tests.worker.conftest import model, prompts
from webapp.registry import services as registry
from webapp.registry.models import Pair
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PLAN, PROJECTION
from webapp.studies.models import Classifier
from webapp.studies.serializers import CARDS


@pytest.fixture
def pair(team, checkpoints) -> Pair:
    words = json.loads(checkpoints["draft"]["tokenizer.json"])
    vocab = words["model"]["vocab"]
    vocab["w5"], vocab["w6"] = vocab["w6"], vocab["w5"]
    draft = {**checkpoints["draft"], "tokenizer.json": json.dumps(words).encode()}
    models = {"target": model(team, checkpoints["target"], "target"), "draft": model(team, draft, "draft")}
    return registry.add_pair(name="slem", **models, other_tokenizer="slem", by=team)


def test_studies_are_about_copies_and_say_why(team, pair, make_worker, client):
    """They used to be refused, though the same target without a draft had them."""
    dataset, hands = prompts(team, ["w1 w2 w3 w1 w2 w3", "w4 w5"]), make_worker()
    client.force_login(team.user)
    for asked in ({"kind": ORACLE}, {"kind": PLAN, "loads": [2]}, {"kind": PROJECTION, "card": CARDS[0][0]}):
        study = studies.launch(pair=pair, dataset=dataset, by=team, sampling={"max_new_tokens": 12}, **asked)
        hands.look()
        study.refresh_from_db()
        study.job.refresh_from_db()
        assert study.job.state == "succeeded", study.job.reason
        assert study.job.done_count == study.job.total_count
        assert study.document["draft_left_out"] == ABOUT_COPIES
        drafting = {Choice.of(row).kind for row in study.document.get("settings", ())}
        assert drafting <= {"autoregressive", "lookup", "suffix", "suffix:memory=true"}
        shown = client.get(f"/studies/{study.pk}/").content.decode()
        assert "this pair matches text (SLEM), so this is about copies alone." in shown


def test_a_classifier_of_copies_is_trained_and_judges_them_beside_the_draft(team, pair, launch, make_worker, client):
    lines = [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1} w{n + 1} w{2 * n + 1}" for n in range(24)]
    asked = {"dataset": prompts(team, lines), "design": "sources", "max_new_tokens": 72}
    training = classifying.train_classifier(name="copies", pair=pair, by=team, **asked)
    hands = make_worker()
    hands.look()
    training.job.refresh_from_db()
    assert training.job.state == "succeeded", training.job.reason
    made = Classifier.objects.get()
    assert (made.card["pair"], made.card["draft_left_out"]) == ([], ABOUT_COPIES)
    client.force_login(team.user)
    assert "so this is about copies alone." in client.get(f"/classifiers/{made.pk}/").content.decode()
    comparison = launch(
        pair=pair, strategies=[{"strategy": "static"}, {"strategy": "suffix", "params": {"classifier": "newest"}}]
    )
    hands.look()
    comparison.job.refresh_from_db()
    assert comparison.job.state == "succeeded", comparison.job.reason

"""Pairs: whether two models fit is said in words the moment they are put together."""

from __future__ import annotations

from tests.webapp import make
from webapp.registry import services
from webapp.registry.models import Pair


def add(world, **options):
    by = world.actor(world.bob)
    target = make.model(by, "target", layers=4)
    draft = make.model(by, "draft", **{"layers": 1, **options})
    body = {"name": "p", "target": str(target.pk), "draft": str(draft.pk)}
    return world.api(world.bob).post("/api/v1/pairs/", body)


def test_a_good_pair_says_why_it_is_good(world):
    answer = add(world)
    assert answer.status_code == 201
    assert {finding["level"] for finding in answer.json()["findings"]} == {"ok"}
    assert "Both have the same tokenizer file." in [finding["sentence"] for finding in answer.json()["findings"]]


def test_other_vocabularies_are_refused_with_both_numbers_and_a_way_out(world):
    answer = add(world, vocab=48)
    assert (answer.status_code, answer.json()["field"], answer.json()["code"]) == (400, "draft", "bad-pair")
    assert "32" in answer.json()["detail"] and "48" in answer.json()["detail"]
    assert "same tokenizer" in answer.json()["hint"]
    assert not Pair.objects.exists()


def test_another_tokenizer_file_or_a_large_draft_is_told_but_allowed(world):
    levels = [f["level"] for f in add(world, tokenizer=b"{}", layers=4).json()["findings"]]
    assert levels == ["ok", "mind", "mind", "ok"]


def test_a_refused_model_makes_no_pair(world):
    by = world.actor(world.bob)
    target, draft = make.model(by), make.model(by, "draft")
    services.refuse_model(model=draft, reason="Its tokenizer cannot be loaded.")
    body = {"target": str(target.pk), "draft": str(draft.pk)}
    answer = world.api(world.bob).post("/api/v1/pairs/check/", body)
    assert (answer.status_code, "Its tokenizer cannot be loaded." in answer.json()["detail"]) == (400, True)


def test_another_teams_model_is_not_there(world):
    mine, theirs = make.model(world.actor(world.bob)), make.model(world.actor(world.charlie))
    body = {"name": "p", "target": str(mine.pk), "draft": str(theirs.pk)}
    assert world.api(world.bob).post("/api/v1/pairs/", body).json()["field"] == "draft"

"""Classifier of a study: chosen in its form, kept with the job, named by document and page."""

from __future__ import annotations

import json

import pytest

from tests.kit import make
from webapp.registry import prompt_sets
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier, Study


def added(by, pair, name) -> Classifier:
    return classifying.add_classifier(name=name, pair=pair, upload=make.upload(by, make.card()), by=by)


def post(world, ready, **changes):
    body = {"kind": "papers", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), **changes}
    return world.script("submit").post("/api/v1/studies/", body)


def test_the_chosen_one_is_kept_with_the_job_and_its_name_is_fixed(world, by, ready):
    chosen = added(by, ready[0], "chosen")
    added(by, ready[0], "newer")
    for kind in ("plan", "projection", "papers"):
        assert post(world, ready, kind=kind, classifier=str(chosen.pk)).status_code == 202
        assert Study.objects.latest("created").asked_classifier == str(chosen.pk)
    chosen.refresh_from_db()
    assert chosen.frozen


def test_one_of_another_pair_and_one_for_a_study_that_uses_none_are_refused(world, by, ready):
    other = make.pair(by, "another")
    for changes, told in (
        ({"classifier": str(added(by, other, "elsewhere").pk)}, "elsewhere is a classifier of another pair"),
        ({"classifier": str(added(by, ready[0], "here").pk), "kind": "oracle"}, "kind oracle uses no classifier"),
    ):
        answer = post(world, ready, **changes)
        assert (answer.status_code, answer.json()["field"]) == (400, "classifier") and told in answer.json()["detail"]
    assert not Study.objects.exists()


def test_the_form_offers_those_of_the_pair_that_it_holds(world, by, ready):
    added(by, ready[0], "of this pair")
    added(by, make.pair(by, "another"), "of another pair")
    shown = world.page(world.bob).get(f"/studies/new/?pair={ready[0].pk}&kind=papers").content.decode()
    assert "of this pair" in shown and "the pair&#x27;s newest" in shown and "of another pair" not in shown


def test_the_form_warns_of_a_classifier_that_was_trained_for_another_sampling(world, by, ready):
    pair, prompts = ready
    fits = make.card(sampling={"temperature": 0.0}, machine="another machine")  # a study measures its own prices
    older = classifying.add_classifier(name="greedy", pair=pair, upload=make.upload(by, fits), by=by)
    differs = make.card(sampling={"temperature": 0.9})
    classifying.add_classifier(name="newest", pair=pair, upload=make.upload(by, differs), by=by)
    form = {"pair": str(pair.pk), "dataset": str(prompts.pk), "describe": "1", "sampling.temperature": "0"}

    def warns(**chosen):
        page = world.page(world.bob).post("/studies/new/", {**form, **chosen}).content.decode()
        return "This study uses a classifier that was trained with temperature 0.9" in page

    assert [warns(kind=kind) for kind in ("plan", "projection", "papers", "oracle")] == [True, True, True, False]
    assert not warns(kind="plan", classifier=str(older.pk))
    assert not warns(kind="plan", describe="use-sampling")
    assert not Study.objects.exists()


@pytest.mark.parametrize("kind", [PLAN, PROJECTION, PAPERS])
def test_document_and_page_name_the_one_that_decided_and_warn_if_it_does_not_fit(world, by, ready, kind):
    used = added(by, ready[0], "used one")
    found = {**make.STUDIES[kind.slug], "classifier": str(used.pk), "misfit": "It is trained for another sampling."}
    card = {"card": "two-cores-epyc"} if kind.needs_card else {}
    study = make.study(by, kind, found, pair=ready[0], dataset=ready[1], **card)
    document = world.script("read").get(f"/api/v1/studies/{study.pk}/document/").json()
    assert document["classifier"] == {"id": str(used.pk), "name": "used one"}
    page = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert f'<a href="/classifiers/{used.pk}/">used one</a>' in page
    assert ("It is trained for another sampling." in page) is (kind is not PAPERS)


def test_the_plan_beside_the_form_refuses_what_launching_would(world, by, ready):
    elsewhere = classifying.add_classifier(
        name="elsewhere", pair=make.pair(by, "another"), upload=make.upload(by, make.card()), by=by
    )
    form = {"kind": "plan", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "lookahead": "5", "queue": "cpu"}
    page = world.page(world.bob)
    assert page.post("/studies/new/", {**form, "describe": "1"}).context["plan"].prompt_count
    for changes, told in (
        ({"classifier": str(elsewhere.pk)}, "elsewhere is a classifier of another pair"),
        ({"kind": "papers", "loads": "4"}, "is not made for several users at once"),
    ):
        shown = page.post("/studies/new/", {**form, **changes, "describe": "1"}).context
        assert shown["plan"] is None and told in shown["why_not"]


def test_a_study_counts_conversations_by_their_first_turns(by, ready):
    said = [{"from": "human", "value": "1?"}, {"from": "gpt", "value": "!"}, {"from": "human", "value": "And?"}]
    chats = prompt_sets.add_dataset(
        name="chats", file_name="chats.jsonl", text=f"{json.dumps({'conversations': said})}\n" * 3, by=by
    )
    study = make.study(by, PAPERS, make.STUDIES["papers"], pair=ready[0], dataset=chats)
    assert chats.prompt_count == 6 and services.document_of(study)["prompts"]["count"] == 3

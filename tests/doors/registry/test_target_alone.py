"""A pair without a draft: registered, compared, and refused where a draft is needed, over REST and on pages."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.urls import reverse

from decoding.backends.without_draft import runnable, those_that_run
from decoding.backends.without_draft import usual as usual_alone
from decoding.strategies import STRATEGIES
from tests.kit import make
from webapp.comparisons import demo
from webapp.comparisons.models import Comparison
from webapp.jobs.models import Job
from webapp.registry import services
from webapp.registry.models import Pair
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Study, Training

NO_DRAFT = "needs a draft model, and this pair has none."


@pytest.fixture
def alone(by):
    return make.target_alone(by)


@pytest.fixture
def prompts(by):
    return make.dataset(by)


def post(world, path, body):
    return world.script("submit").post(f"/api/v1/{path}", body)


def test_the_form_makes_a_pair_without_a_draft_and_its_page_says_what_runs(world):
    target = make.model(world.actor(world.bob))
    client = world.page(world.bob)
    answer = client.post("/pairs/new/", {"name": "p", "target": str(target.pk), "draft": ""})
    made = Pair.objects.get()
    assert answer["Location"] == reverse("pair", args=[made.pk])
    shown = client.get(answer["Location"]).content.decode()
    assert "alone, without a draft" in shown and f"Without a draft, {those_that_run()} can run" in shown
    assert "kind=oracle" in shown and "kind=plan" in shown
    told = world.script("read").get(f"/api/v1/pairs/{made.pk}/").json()
    assert told["draft"] is None and "There is no draft: strategies that need a draft model cannot run." in [
        finding["sentence"] for finding in told["findings"]
    ]


def test_a_strategy_that_needs_a_draft_is_refused_and_leaves_nothing(world, alone, prompts):
    jobs = Job.objects.count()
    for slug in (slug for slug, strategy in STRATEGIES.items() if strategy.needs_draft):
        strategies = [{"strategy": "autoregressive"}, {"strategy": slug}]
        answer = post(world, "comparisons/", make.body(alone, prompts, strategies=strategies))
        told = answer.json()
        assert (answer.status_code, told["field"], told["code"]) == (400, "strategies.1", "no-draft"), slug
        assert NO_DRAFT in told["detail"] and f"{those_that_run()} can run" in told["detail"] and told["hint"]
    assert not Comparison.objects.exists() and Job.objects.count() == jobs


def test_what_studies_and_classifiers_need_a_draft_for_is_refused(world, alone, prompts, by):
    answer = post(world, "studies/", {"kind": "papers", "pair": str(alone.pk), "dataset": str(prompts.pk)})
    assert (answer.status_code, answer.json()["field"]) == (400, "pair")
    assert NO_DRAFT in answer.json()["detail"] and answer.json()["hint"] == "Choose a pair with a draft."
    assert not Study.objects.exists()
    body = {"name": "c", "pair": str(alone.pk)}
    training = post(world, "classifiers/train/", {**body, "dataset": str(prompts.pk)})
    added = post(world, "classifiers/", {**body, "upload": str(make.upload(by, make.card()).pk)})
    for answer in (training, added):
        assert (answer.status_code, answer.json()["field"]) == (400, "pair")
        assert NO_DRAFT in answer.json()["detail"]
    assert not Training.objects.exists() and not Classifier.objects.exists()


def test_studies_and_a_classifier_of_copies_are_launched_trained_and_added(world, alone, prompts):
    for asked in ({"kind": "plan", "loads": [1, 2]}, {"kind": "oracle"}, {"kind": "projection"}):
        body = {**asked, "pair": str(alone.pk), "dataset": str(prompts.pk)}
        assert post(world, "studies/", body).status_code == 202, asked
    by, body = world.actor(world.bob), {"name": "c", "pair": str(alone.pk)}
    training = {**body, "dataset": str(prompts.pk), "design": "sources"}
    assert post(world, "classifiers/train/", training).status_code == 202
    upload = make.upload(by, make.card(design="sources"))
    assert post(world, "classifiers/", {**body, "upload": str(upload.pk)}).status_code == 201
    asked = make.body(alone, prompts, strategies=["lookup:classifier=newest"])
    run = post(world, "comparisons/", asked).json()["runs"][-1]
    assert run["params"]["classifier"] == str(Classifier.objects.get().pk)


def test_pages_of_pair_and_classifier_lead_to_what_the_target_can_run(world, alone, by):
    """Its button was missing."""
    client = world.page(world.bob)
    [link] = re.findall(r'href="(/classifiers/train/[^"]*)"', client.get(f"/pairs/{alone.pk}/").content.decode())
    shown = " ".join(client.get(html.unescape(link)).content.decode().split())
    assert f'<option value="{alone.pk}" selected>' in shown and '<option value="sources" selected>' in shown
    card = make.card(design="sources", thresholds={"copied": 0.2})
    made = classifying.add_classifier(name="c", pair=alone, upload=make.upload(by, card), by=by)
    asked = client.get(f"/classifiers/{made.pk}/").context["comparison"]
    uses = {value for name, value in asked if name == "use"}
    assert "suffix" in uses <= set(runnable()) and ("suffix.classifier", str(made.pk)) in asked


def test_copies_are_judged_by_a_classifier_of_a_pair_with_the_same_target(world, alone, prompts):
    by, ours = world.actor(world.bob), {"name": "c", "by": world.actor(world.bob)}
    body = make.body(alone, prompts, strategies=["suffix:classifier=newest"])
    other, draft = make.pair(by), make.model(by, "draft", layers=1)
    paired = services.add_pair(name="paired", target=alone.target, draft=draft, by=by)
    for pair, design in ((other, "sources"), (paired, "ours")):
        classifying.add_classifier(pair=pair, upload=make.upload(by, make.card(design=design)), **ours)
    refused = post(world, "comparisons/", body)
    assert (refused.status_code, refused.json()["field"]) == (400, "strategies.0.params.classifier")
    assert "Train one with the design `sources`." in refused.json()["hint"]
    assert not Comparison.objects.exists()
    made = classifying.add_classifier(pair=paired, upload=make.upload(by, make.card(design="sources")), **ours)
    answer = post(world, "comparisons/", body)
    assert (answer.status_code, answer.json()["runs"][-1]["params"]["classifier"]) == (202, str(made.pk))
    page = world.page(world.bob).get(f"/comparisons/new/?pair={alone.pk}")
    assert f'<option value="{made.pk}">c</option>' in page.content.decode()


def test_forms_offer_only_what_runs_and_say_why(world, alone, prompts):
    shown = world.page(world.bob).get(f"/comparisons/new/?pair={alone.pk}")
    boxes = {box.spec.slug: box for box in shown.context["form"].strategies}
    assert {slug: bool(box.lacks) for slug, box in boxes.items()} == {
        slug: strategy.needs_draft for slug, strategy in STRATEGIES.items() if strategy.role != "server"
    }
    opened = re.findall(r'<input type="checkbox" name="use" value="([^"]*)"([^>]*)>', shown.content.decode())
    assert {slug: "disabled" in rest for slug, rest in opened} == {slug: bool(box.lacks) for slug, box in boxes.items()}
    usual = {choice.strategy for choice in usual_alone()}
    assert "autoregressive" in usual and {slug for slug, rest in opened if "checked" in rest} == usual
    assert {each["strategy"] for each in json.loads(shown.context["code"]["body"])["strategies"]} == usual
    form = {"pair": str(alone.pk), "dataset": str(prompts.pk), "use": "static", "static.lookahead": "4", "launch": ""}
    answer = world.page(world.bob).post("/comparisons/new/", form)
    assert answer.status_code == 422 and f"static:4 {NO_DRAFT}" in answer.content.decode()
    paired = make.pair(world.actor(world.bob))
    shown = " ".join(world.page(world.bob).get("/studies/new/?kind=papers").content.decode().split())
    assert f'<option value="{alone.pk}" disabled>alone: target (no draft)</option>' in shown
    assert f'<option value="{paired.pk}" selected>pair: target / draft</option>' in shown  # the only one to choose


def test_a_demo_of_a_target_alone_shows_what_copies_bring(by):
    """It used to run nothing but the baseline."""
    make.target_alone(by, name=demo.STARTER)
    make.dataset(by, count=demo.PROMPTS, name=f"{demo.STARTER} code")
    made = demo.launch(by=by)
    assert [run.choice for run in made.runs.all()] == usual_alone()
    assert any(run.choice.spec.copies_only for run in made.runs.all())

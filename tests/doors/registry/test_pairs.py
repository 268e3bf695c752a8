"""Pairs: whether two models fit is said in words the moment they are put together. A pair without a draft is compared,
and refused where a draft is needed."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from decoding.backends.without_draft import those_that_run
from decoding.backends.without_draft import usual as usual_alone
from decoding.strategies import STRATEGIES
from tests.kit import make
from webapp.comparisons.models import Comparison
from webapp.jobs.models import Job
from webapp.registry import services
from webapp.registry.models import LanguageModel, Pair, Readiness
from webapp.studies.models import Classifier, Study, Training


def add(world, other_tokenizer="auto", **options):
    by = world.actor(world.bob)
    target = make.model(by, "target", layers=4)
    draft = make.model(by, "draft", **{"layers": 1, **options})
    body = {"name": "p", "target": str(target.pk), "draft": str(draft.pk), "other_tokenizer": other_tokenizer}
    return world.api(world.bob).post("/api/v1/pairs/", body)


def told(answer) -> dict[str, str]:
    return {finding["topic"]: finding["sentence"] for finding in answer.json()["findings"]}


def test_a_good_pair_says_why_it_is_good_and_tokenizers_that_differ_are_remarked_on(world):
    answer = add(world)
    assert answer.status_code == 201 and "Both have the same 32 tokens." in told(answer).values()
    answer = add(world, first="b", other_tokenizer="slem")
    assert (answer.status_code, answer.json()["other_tokenizer"]) == (201, "slem")
    assert "0 is 'a' to the target and 'b' to the draft" in told(answer)["tokenizer"]
    methods = [finding["method"] for finding in answer.json()["findings"] if "method" in finding]
    assert methods == ["slem"]  # what `auto` does: few tokens of the sample text are shared
    page = world.page(world.bob).get(f"/pairs/{answer.json()['id']}/").content.decode()
    assert "The target shares 31 of" in page and "This pair matches text (SLEM)." in page


def test_a_pair_that_cannot_draft_is_refused_with_the_figure_and_a_way_out(world):
    answer = add(world, **{"tokenizer.json": make.tokenizer(32, "b").replace(b'"w', b'"u')})
    assert (answer.status_code, answer.json()["field"], answer.json()["code"]) == (400, "draft", "bad-pair")
    assert "None of the draft's 32 tokens writes what one of the target's 32 does (0 %)" in answer.json()["detail"]
    assert not Pair.objects.exists()


def test_a_refused_or_broken_model_makes_no_pair_and_no_path_of_the_server_is_told(world, by):
    broken = make.upload(by, make.checkpoint(**{"tokenizer.json": b"{"}))
    model = services.add_model(name="broken", upload=broken, by=by)
    target, api = make.model(by), world.api(world.bob)
    for body, field in (({"target": target.pk, "draft": model.pk}, "draft"), ({"target": model.pk}, "target")):
        answer = api.post("/api/v1/pairs/check/", {role: str(pk) for role, pk in body.items()})
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert "/tmp" not in answer.content.decode() and "drafthouse-pair" not in answer.content.decode()
    services.model_was_checked(model=model, state=Readiness.REFUSED, reason="Its tokenizer cannot be loaded.")
    answer = api.post("/api/v1/pairs/check/", {"target": str(target.pk), "draft": str(model.pk)})
    assert (answer.status_code, "Its tokenizer cannot be loaded." in answer.json()["detail"]) == (400, True)


def test_ids_of_the_hub_make_a_pair_and_each_model_once(world):
    api, body = world.api(world.bob), {"name": "p", "target": "org/large", "draft": "org/small@v1"}
    assert api.post("/api/v1/pairs/check/", {"target": "org/large"}).json()["findings"][0]["level"] == "remark"
    assert not LanguageModel.objects.exists()
    first, again = (api.post("/api/v1/pairs/", body).json() for _ in range(2))
    assert [first[role] for role in ("target", "draft")] == [again[role] for role in ("target", "draft")]
    rows = LanguageModel.objects.order_by("location").values_list("location", "revision", "job__kind")
    assert list(rows) == [("org/large", "main", "fetch-model"), ("org/small", "v1", "fetch-model")]
    for target in ("nobody", "a/b/c", "../etc"):
        answer = api.post("/api/v1/pairs/", {"name": "p", "target": target})
        assert (answer.status_code, answer.json()["field"]) == (400, "target")
    assert LanguageModel.objects.count() == 2


def test_the_form_takes_a_typed_id_of_the_hub_before_a_chosen_model(world):
    target = make.model(world.actor(world.bob))
    client = world.page(world.bob)
    sent = {"name": "p", "target": str(target.pk), "target.typed": "org/", "draft": str(target.pk), "draft.typed": ""}
    shown = client.post("/pairs/new/", sent).content.decode()
    assert 'value="org/"' in shown and "org/ is no model of the team, and no id of the Hugging Face hub" in shown
    assert not Pair.objects.exists()
    assert client.post("/pairs/new/", {**sent, "target.typed": "org/big@v1"}).status_code == 302
    pair = Pair.objects.get()
    assert (pair.target.location, pair.target.revision, pair.draft) == ("org/big", "v1", target)


def test_prompts_that_are_added_for_a_pair_lead_to_the_comparison_of_both(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    pair = make.pair(by)
    answer = client.post(f"/datasets/new/?pair={pair.pk}", {"name": "mine", "text": "one\ntwo", "add": ""})
    assert answer["Location"].startswith("/comparisons/new/?")
    form = client.get(answer["Location"]).content.decode()
    assert f'<option value="{pair.pk}" selected>' in form and re.search(r"selected>mine", form)


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


def test_of_studies_and_classifiers_those_of_copies_are_launched_and_those_of_drafts_refused(world, alone, prompts, by):
    both, named = {"pair": str(alone.pk), "dataset": str(prompts.pk)}, {"pair": str(alone.pk), "name": "c"}
    drafts, copies = (str(make.upload(by, make.card(**more)).pk) for more in ({}, {"design": "sources"}))
    for path, body in (
        ("studies/", {"kind": "papers", **both}),
        ("classifiers/train/", {**both, **named}),
        ("classifiers/", {**named, "upload": drafts}),
    ):
        answer = post(world, path, body)
        assert (answer.status_code, answer.json()["field"]) == (400, "pair")
        assert NO_DRAFT in answer.json()["detail"]
    assert not Study.objects.exists() and not Training.objects.exists() and not Classifier.objects.exists()
    for asked in ({"kind": "plan", "loads": [1, 2]}, {"kind": "oracle"}, {"kind": "projection"}):
        assert post(world, "studies/", {**asked, **both}).status_code == 202, asked
    assert post(world, "classifiers/train/", {**both, **named, "design": "sources"}).status_code == 202
    assert post(world, "classifiers/", {**named, "upload": copies}).status_code == 201


def test_copies_are_judged_by_a_classifier_of_a_pair_with_the_same_target(world, alone, prompts, by):
    body = make.body(alone, prompts, strategies=["suffix:classifier=newest"])
    draft = make.model(by, "draft", layers=1)
    paired = services.add_pair(name="paired", target=alone.target, draft=draft, by=by)
    for pair, design in ((make.pair(by), "sources"), (paired, "ours")):
        make.classifier(by, pair, design=design)
    refused = post(world, "comparisons/", body)
    assert (refused.status_code, refused.json()["field"]) == (400, "strategies.0.params.classifier")
    assert "Train one with the design `sources`." in refused.json()["hint"]
    made = make.classifier(by, paired, design="sources")
    answer = post(world, "comparisons/", body)
    assert (answer.status_code, answer.json()["runs"][-1]["params"]["classifier"]) == (202, str(made.pk))


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

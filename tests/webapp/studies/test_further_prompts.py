"""A study of the papers takes a further prompt set, between which and its own a classifier is moved."""

from __future__ import annotations

from tests.kit import make
from webapp.registry.models import Dataset
from webapp.studies import repeating, services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS
from webapp.studies.models import Study


def post(world, ready, **changes):
    body = {"kind": "papers", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), **changes}
    return world.script("submit").post("/api/v1/studies/", body)


def test_it_is_kept_with_the_job_shown_and_its_name_is_fixed(world, by, ready):
    further = make.dataset(by, name="further")
    answer = post(world, ready, also=str(further.pk))
    assert answer.status_code == 202 and answer.json()["also"] == str(further.pk)
    further.refresh_from_db()
    assert further.frozen
    asked = repeating.asked(Study.objects.get(), None)
    assert asked.also == "also.jsonl"
    [made] = [line for line in asked.files if line.endswith("> also.jsonl")]
    assert f"/api/v1/datasets/{further.pk}/prompts/" in made
    assert post(world, ready).json()["also"] == ""


def test_it_is_refused_by_field_where_it_has_no_use(world, by, ready):
    further = make.dataset(by, name="further")
    for changes, told in (
        ({"also": str(further.pk), "kind": "oracle"}, "kind oracle takes one prompt set"),
        ({"also": str(ready[1].pk)}, "is the study's own prompt set"),
        ({"also": str(ready[0].pk)}, "There is none with the id"),
    ):
        answer = post(world, ready, **changes)
        assert (answer.status_code, answer.json()["field"]) == (400, "also"), answer.json()
        assert told in answer.json()["detail"]
    split = next(name for name in ready[1].splits if name)
    Dataset.objects.filter(pk=further.pk).update(splits={"": 3})
    answer = post(world, ready, also=str(further.pk), split=split)
    assert answer.json()["field"] == "also" and f"has no split '{split}'" in answer.json()["detail"]
    assert not Study.objects.exists()


def test_the_plan_beside_the_form_refuses_what_launching_would(world, by, ready):
    elsewhere = classifying.add_classifier(
        name="elsewhere", pair=make.pair(by, "another"), upload=make.upload(by, make.card()), by=by
    )
    form = {"kind": "plan", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "lookahead": "5", "queue": "cpu"}
    page = world.page(world.bob)
    assert page.post("/studies/new/", {**form, "describe": "1"}).context["plan"].prompt_count
    for changes, told in (
        ({"also": str(make.dataset(by, name="further").pk)}, "kind plan takes one prompt set"),
        ({"classifier": str(elsewhere.pk)}, "elsewhere is a classifier of another pair"),
        ({"kind": "papers", "loads": "4"}, "is not made for several users at once"),
    ):
        shown = page.post("/studies/new/", {**form, **changes, "describe": "1"}).context
        assert shown["plan"] is None and told in shown["why_not"]


def test_the_form_offers_it_and_the_document_names_it(world, by, ready):
    further = make.dataset(by, name="further")
    page = world.page(world.bob).get("/studies/new/?kind=papers").content.decode()
    assert "Further prompts" in page and "further</option>" in page
    study = make.study(by, PAPERS, make.STUDIES["papers"], pair=ready[0], dataset=ready[1], also=further)
    assert services.document_of(study)["prompts"]["also"] == {"set": "further", "count": further.prompt_count}

"""The pages of classifiers: trained here or brought along, with a card, without one, with a hostile one."""

from __future__ import annotations

import json

import pytest

from tests.kit import make
from webapp.jobs import services as jobs
from webapp.registry import prompt_sets
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Training


def added(world, pair, files) -> Classifier:
    by = world.actor(world.bob)
    return classifying.add_classifier(name="c", pair=pair, upload=make.upload(by, files), by=by)


def shown(world, address) -> str:
    answer = world.page(world.victor).get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def shown_to(world, user, address) -> str:
    return world.page(user).get(address).content.decode()


def test_a_card_is_read_when_it_comes_and_shown_and_without_one_the_page_says_so(world, ready):
    costs = {**make.STUDIES["card"]["costs"], "decision": 0}
    card = json.dumps({**make.STUDIES["card"], "costs": costs}).encode()
    made = added(world, ready[0], {**make.card(), "card.json": card})
    assert made.metrics["auc"] == make.STUDIES["card"]["metrics"]["auc"] and "roc" not in made.metrics
    page = shown(world, f"/classifiers/{made.pk}/")
    for words in ("times as fast as autoregressive", "When to stop", '"roc":',
                  "2 prompts were left out", "<dt>design</dt>", "<dt>machine</dt>"):  # fmt: skip
        assert words in page
    assert "too short to measure on that machine" in page
    form = shown_to(world, world.bob, f"/classifiers/{made.pk}/")
    assert 'name="use" value="static"' in form and 'name="use" value="ssd"' not in form, "beside plain settings"
    api = world.api(world.victor)
    assert api.get(f"/api/v1/classifiers/{made.pk}/").json()["card"]["sweep"]["priced"]
    assert "card" not in api.get("/api/v1/classifiers/").json()["results"][0]
    made = added(world, ready[0], {"c.safetensors": make.safetensors({"w": [2]})})
    assert "It has no card, so nobody knows how good it is." in shown(world, f"/classifiers/{made.pk}/")


def test_a_card_that_is_none_is_refused(world, ready):
    for card in (b"{", b"[]", b"\xff", b'{"a":"\\u0000"}', b"[" * 5000):
        upload = make.upload(world.actor(world.bob), {**make.card(), "card.json": card})
        body = {"name": "c", "pair": str(ready[0].pk), "upload": str(upload.pk)}
        answer = world.script("submit").post("/api/v1/classifiers/", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-card")
    assert not Classifier.objects.exists()


def test_parts_of_a_card_that_are_not_what_they_should_be_are_left_out(world, ready):
    sound = make.STUDIES["card"]
    spoilt = [{**sound, part: {"draft": "x", "roc": [1]}} for part in sound]
    for card in (dict.fromkeys(sound, "<script>"), *spoilt):
        made = added(world, ready[0], {**make.card(), "card.json": json.dumps(card).encode()})
        assert "<script>" not in shown(world, f"/classifiers/{made.pk}/").replace("<script src", "")


def test_a_training_has_a_page_until_its_classifier_has_one(world, by, ready):
    training = make.training(by, pair=ready[0], dataset=ready[1])
    jobs.note(job=training.job, sentence="", numbers={"phase": "training", "done": 1, "due": 60, "train_loss": 0.5})
    page = world.page(world.victor).get(f"/trainings/{training.pk}/")
    assert page.context["work"]["lines"][-1]["numbers"]["train_loss"] == 0.5
    assert "in the making" in shown(world, "/classifiers/")
    classifying.finish_training(job=training.job, files=make.card().items())
    moved = world.page(world.victor).get(f"/trainings/{training.pk}/")
    classifier = Classifier.objects.get()
    assert moved["Location"] == f"/classifiers/{classifier.pk}/"
    assert "trained on" in shown(world, moved["Location"])


def test_training_begins_from_its_form(world, ready):
    form = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "temperature": "0", "queue": "cpu",
            "max_new_tokens": "16"}  # fmt: skip
    answer = world.page(world.bob).post("/classifiers/train/", form)
    assert answer["Location"].startswith("/trainings/")
    assert "mine is being trained" in shown(world, answer["Location"])


def in_splits(by, *splits):
    lines = [json.dumps({"text": f"{split} {n}", "split": split}) for n in range(4) for split in splits]
    return lines, prompt_sets.add_dataset(name="split", file_name="w.jsonl", text="\n".join(lines), by=by)


def test_a_training_may_take_the_first_prompts_of_each_split(world, by, ready):
    lines, words = in_splits(by, "train", "validation", "test")
    body = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(words.pk)}
    api = world.api(world.bob)
    first = {f"{split} {n}" for split in ("train", "validation", "test") for n in range(2)}
    wanted = {2: first, None: {json.loads(line)["text"] for line in lines}}
    for limit, expected in wanted.items():
        assert api.post("/api/v1/classifiers/train/", {**body, "limit": limit}, format="json").status_code == 202
        assert {prompt.text for prompt in Training.objects.latest("created").prompts} == expected
    refused = api.post("/api/v1/classifiers/train/", {**body, "limit": 0}, format="json")
    assert (refused.status_code, refused.json()["field"], Training.objects.count()) == (400, "limit", 2)
    assert 'name="limit"' in shown_to(world, world.bob, "/classifiers/train/")


def test_a_set_with_splits_that_lacks_one_is_refused(world, by, ready):
    _, words = in_splits(by, "train", "test")
    body = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(words.pk)}
    refused = world.api(world.bob).post("/api/v1/classifiers/train/", body, format="json")
    assert (refused.status_code, refused.json()["field"], Training.objects.count()) == (400, "dataset", 0)
    assert "no prompts in validation" in refused.json()["detail"]


def test_the_form_of_a_training_shows_its_plan_before_it_has_a_name(world, by, ready):
    client, (_, words) = world.page(world.bob), in_splits(by, "train", "validation", "test")
    form = {"pair": str(ready[0].pk), "dataset": str(words.pk), "describe": "1"}
    for limit, count in (("", 12), ("3", 9), ("9", 12)):
        shown = client.post("/classifiers/train/", {**form, "limit": limit}).content.decode()
        assert f"<p>{count} prompts, at most" in shown
    assert "No worker listens on <code>cpu</code>" in client.post("/classifiers/train/", form).content.decode()
    assert not Training.objects.exists()


def test_a_training_has_one_of_the_known_designs(world, ready):
    body, api = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(ready[1].pk)}, world.api(world.bob)
    refused = api.post("/api/v1/classifiers/train/", {**body, "design": "mine"}, format="json")
    assert (refused.status_code, refused.json()["field"], Training.objects.count()) == (400, "design", 0)
    assert api.post("/api/v1/classifiers/train/", {**body, "design": "ours"}, format="json").status_code == 202
    assert Training.objects.get().design == "ours"


@pytest.fixture
def classifier(world):
    by = world.actor(world.alice)
    files = {f"disco/{name}": content for name, content in make.card().items()}
    return classifying.add_classifier(name="c", pair=make.pair(by), upload=make.upload(by, files), by=by)


def test_weights_and_card_can_be_had_by_all_of_the_team_and_nobody_else(world, classifier):
    client = world.api(world.victor)
    shown = client.get(f"/api/v1/classifiers/{classifier.pk}/").json()
    assert {file["name"] for file in shown["files"]} == {"card.json", "classifier.safetensors"}
    for name, content in make.card().items():
        answer = client.get(f"/api/v1/classifiers/{classifier.pk}/files/{name}/")
        assert answer.content == content
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    page = world.page(world.victor).get(f"/classifiers/{classifier.pk}/").content.decode()
    assert f"/api/v1/classifiers/{classifier.pk}/files/card.json/" in page
    answer = world.api(world.charlie).get(f"/api/v1/classifiers/{classifier.pk}/files/card.json/")
    assert answer.status_code == 404 and b"AUC" not in answer.content


def test_only_its_own_files_are_there(world, classifier):
    for name in ("other.json", "..%2fcard.json", "disco", "%00"):
        answer = world.api(world.alice).get(f"/api/v1/classifiers/{classifier.pk}/files/{name}/")
        assert answer.status_code == 404

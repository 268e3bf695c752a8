"""The pages of classifiers: trained here or brought along, with a card, without one, with a hostile one."""

from __future__ import annotations

import json

from tests.kit import make
from webapp.jobs import services as jobs
from webapp.registry import prompt_sets
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Training


def added(world, pair, files) -> Classifier:
    by = world.actor(world.bob)
    return classifying.add_classifier(name="c", pair=pair, upload=make.upload(by, files), by=by)


def shown(world, address, user=None) -> str:
    answer = world.page(user or world.victor).get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_card_is_read_when_it_comes_and_shown_and_without_one_the_page_says_so(world, ready):
    costs = {**make.STUDIES["card"]["costs"], "decision": 0}
    card = json.dumps({**make.STUDIES["card"], "costs": costs}).encode()
    made = added(world, ready[0], {**make.card(), "card.json": card})
    assert made.metrics["auc"] == make.STUDIES["card"]["metrics"]["auc"] and "reliability" not in made.metrics
    page = shown(world, f"/classifiers/{made.pk}/")
    for words in ("times as fast as autoregressive", "When to stop", '"reliability":', "2 prompts were left out",
                  "<dt>design</dt>", "<dt>machine</dt>", "too short to measure on that machine"):  # fmt: skip
        assert words in page
    form = shown(world, f"/classifiers/{made.pk}/", world.bob)
    assert 'name="use" value="static"' in form and 'name="use" value="ssd"' not in form, "beside plain settings"
    api = world.api(world.victor)
    assert api.get(f"/api/v1/classifiers/{made.pk}/").json()["card"]["sweep"]["priced"]
    assert "card" not in api.get("/api/v1/classifiers/").json()["results"][0]
    made = added(world, ready[0], {"c.safetensors": make.safetensors({"w": [2]})})
    assert "It has no card, so nobody knows how good it is." in shown(world, f"/classifiers/{made.pk}/")


def test_a_card_that_is_none_is_refused_and_parts_that_are_not_what_they_should_be_are_left_out(world, ready):
    for card in (b"{", b"[]", b"\xff", b'{"a":"\\u0000"}', b"[" * 5000):
        upload = make.upload(world.actor(world.bob), {**make.card(), "card.json": card})
        body = {"name": "c", "pair": str(ready[0].pk), "upload": str(upload.pk)}
        answer = world.script("submit").post("/api/v1/classifiers/", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-card")
    assert not Classifier.objects.exists()
    sound = make.STUDIES["card"]
    spoilt = [{**sound, part: {"draft": "x", "reliability": [1]}} for part in sound]
    for card in (dict.fromkeys(sound, "<script>"), *spoilt):
        made = added(world, ready[0], {**make.card(), "card.json": json.dumps(card).encode()})
        assert "<script>" not in shown(world, f"/classifiers/{made.pk}/").replace("<script src", "")


def test_a_training_begins_from_its_form_and_has_a_page_until_its_classifier_has_one(world, ready):
    form = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "temperature": "0", "queue": "cpu",
            "max_new_tokens": "16"}  # fmt: skip
    address = world.page(world.bob).post("/classifiers/train/", form)["Location"]
    job = jobs.claim(worker="w1", queues=["cpu"])
    jobs.note(job=job, sentence="", numbers={"phase": "training", "done": 1, "due": 60, "train_loss": 0.5})
    page = world.page(world.victor).get(address)
    assert page.context["work"]["lines"][-1]["numbers"]["train_loss"] == 0.5 and "mine" in page.content.decode()
    assert "mine" in shown(world, "/classifiers/")
    classifying.finish_training(job=job, files=make.card().items())
    moved = world.page(world.victor).get(address)
    assert moved["Location"] == f"/classifiers/{Classifier.objects.get().pk}/"
    assert "trained on" in shown(world, moved["Location"])


def in_splits(by, *splits):
    lines = [json.dumps({"text": f"{split} {n}", "split": split}) for n in range(4) for split in splits]
    return prompt_sets.add_dataset(name="split", file_name="w.jsonl", text="\n".join(lines), by=by)


def test_a_training_takes_the_first_prompts_of_each_split(world, by, ready):
    words = in_splits(by, "train", "validation", "test")
    body = {"name": "mine", "pair": str(ready[0].pk), "dataset": str(words.pk)}

    def train(**changes):
        return world.script("submit").post("/api/v1/classifiers/train/", {**body, **changes})

    for limit, count in ((2, 2), (None, 4)):
        assert train(limit=limit).status_code == 202
        expected = {f"{split} {n}" for split in ("train", "validation", "test") for n in range(count)}
        assert {prompt.text for prompt in Training.objects.latest("created").prompts} == expected
    for changes, field, told in (
        ({"limit": 0}, "limit", ""),
        ({"dataset": str(in_splits(by, "train", "test").pk)}, "dataset", "no prompts in validation"),
        ({"design": "mine"}, "design", "mine"),
    ):
        refused = train(**changes)
        assert (refused.status_code, refused.json()["field"]) == (400, field) and told in refused.json()["detail"]
    assert Training.objects.count() == 2
    client, form = world.page(world.bob), {"pair": body["pair"], "dataset": body["dataset"], "describe": "1"}
    for limit, count in (("", 12), ("3", 9)):  # its plan is shown before it has a name
        plan = client.post("/classifiers/train/", {**form, "limit": limit}).content.decode()
        assert f"<p>{count} prompts, at most" in plan


def test_weights_and_card_can_be_had_by_all_of_the_team_and_nobody_else(world, by, ready):
    files = {f"disco/{name}": content for name, content in make.card().items()}
    classifier, client = added(world, ready[0], files), world.api(world.victor)
    address = f"/api/v1/classifiers/{classifier.pk}/"
    assert {file["name"] for file in client.get(address).json()["files"]} == {"card.json", "classifier.safetensors"}
    for name, content in make.card().items():
        answer = client.get(f"{address}files/{name}/")
        assert answer.content == content and answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    assert world.api(world.charlie).get(f"{address}files/card.json/").status_code == 404
    for name in ("other.json", "..%2fcard.json", "disco", "%00"):
        assert client.get(f"{address}files/{name}/").status_code == 404

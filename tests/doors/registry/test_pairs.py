"""Pairs: whether two models fit is said in words the moment they are put together."""

from __future__ import annotations

import re

from tests.kit import make
from webapp.registry import services
from webapp.registry.models import LanguageModel, Pair, Readiness


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

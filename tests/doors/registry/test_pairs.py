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


def test_a_good_pair_says_why_it_is_good(world):
    answer = add(world)
    assert answer.status_code == 201
    told = {finding["topic"]: finding["sentence"] for finding in answer.json()["findings"]}
    assert "Both have the same 32 tokens." in told.values()
    assert re.fullmatch(r"The target has \d times as many .* \(\d\.\dK against \d\.\dK parameters\)\.", told["size"])
    assert re.match(r"Weights take \d+\.\d KiB; with the cache of a text of 64 tokens \d+\.\d KiB\.", told["memory"])


def test_tokenizers_that_differ_are_remarked_on_with_what_they_share(world):
    answer = add(world, first="b", other_tokenizer="slem")
    assert (answer.status_code, answer.json()["other_tokenizer"]) == (201, "slem")
    told = {finding["topic"]: finding["sentence"] for finding in answer.json()["findings"]}
    assert "0 is 'a' to the target and 'b' to the draft" in told["tokenizer"]
    assert told["shared tokens"].startswith("The target shares 31 of the draft's 32 tokens (96.9 %). They are about")
    methods = [finding["method"] for finding in answer.json()["findings"] if "method" in finding]
    assert methods == ["slem"]  # what `auto` does: few tokens of the sample text are shared
    page = world.page(world.bob).get(f"/pairs/{answer.json()['id']}/").content.decode()
    assert "(96.9 %)" in page and "This pair matches text (SLEM)." in page


def test_a_pair_that_cannot_draft_is_refused_with_the_figure_and_a_way_out(world):
    answer = add(world, other_tokenizer="guess")
    assert (answer.status_code, answer.json()["field"]) == (400, "other_tokenizer")
    assert not Pair.objects.exists()
    answer = add(world, **{"tokenizer.json": make.tokenizer(32, "b").replace(b'"w', b'"u')})
    assert (answer.status_code, answer.json()["field"], answer.json()["code"]) == (400, "draft", "bad-pair")
    assert "None of the draft's 32 tokens writes what one of the target's 32 does (0 %)" in answer.json()["detail"]
    assert "target's own family" in answer.json()["detail"]
    assert not Pair.objects.exists()


def test_a_refused_or_broken_model_makes_no_pair_and_no_path_of_the_server_is_told(world, by):
    broken = make.upload(by, make.checkpoint(**{"tokenizer.json": b"{"}))
    draft = services.add_model(name="draft", upload=broken, by=by)
    body = {"target": str(make.model(by).pk), "draft": str(draft.pk)}
    answer = world.api(world.bob).post("/api/v1/pairs/check/", body)
    assert answer.status_code == 400
    assert "/tmp" not in answer.content.decode() and "drafthouse-pair" not in answer.content.decode()
    target, draft = make.model(by), make.model(by, "draft")
    services.model_was_checked(model=draft, state=Readiness.REFUSED, reason="Its tokenizer cannot be loaded.")
    body = {"target": str(target.pk), "draft": str(draft.pk)}
    answer = world.api(world.bob).post("/api/v1/pairs/check/", body)
    assert (answer.status_code, "Its tokenizer cannot be loaded." in answer.json()["detail"]) == (400, True)


def test_ids_of_the_hub_make_a_pair_and_each_model_once(world):
    api, body = world.api(world.bob), {"name": "p", "target": "org/large", "draft": "org/small@v1"}
    assert api.post("/api/v1/pairs/check/", {"target": "org/large"}).json()["findings"][0]["level"] == "remark"
    assert not LanguageModel.objects.exists()
    first, again = (api.post("/api/v1/pairs/", body).json() for _ in range(2))
    assert [first[role]["name"] for role in ("target", "draft")] == ["org/large", "org/small"]
    assert [first[role] for role in ("target", "draft")] == [again[role] for role in ("target", "draft")]
    rows = LanguageModel.objects.order_by("location").values_list("location", "revision", "job__kind")
    assert list(rows) == [("org/large", "main", "fetch-model"), ("org/small", "v1", "fetch-model")]


def test_the_form_takes_a_typed_id_of_the_hub_before_a_chosen_model(world):
    target = make.model(world.actor(world.bob))
    client = world.page(world.bob)
    told = {
        "name": "p",
        "target": str(target.pk),
        "target.typed": "org/big@v1",
        "draft": str(target.pk),
        "draft.typed": "",
    }
    shown = client.post("/pairs/new/", {**told, "target.typed": "org/"}).content.decode()
    assert 'value="org/"' in shown and "org/ is no model of the team, and no id of the Hugging Face hub" in shown
    assert shown.count('<option value="">–</option>') == 3 and not Pair.objects.exists()
    assert client.post("/pairs/new/", told).status_code == 302
    pair = Pair.objects.get()
    assert (pair.target.location, pair.target.revision, pair.draft) == ("org/big", "v1", target)


def test_what_is_neither_a_model_nor_an_id_of_the_hub_makes_no_pair(world):
    for target in ("nobody", "a/b/c", "../etc", "a/b@../c"):
        answer = world.api(world.bob).post("/api/v1/pairs/", {"name": "p", "target": target})
        assert (answer.status_code, answer.json()["field"]) == (400, "target")
    assert world.api(world.victor).post("/api/v1/pairs/", {"name": "p", "target": "a/b"}).status_code == 403
    assert not LanguageModel.objects.exists()


def test_prompts_that_are_added_for_a_pair_lead_to_the_comparison_of_both(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    pair = make.pair(by)
    answer = client.post(f"/datasets/new/?pair={pair.pk}", {"name": "mine", "text": "one\ntwo", "add": ""})
    assert answer["Location"].startswith("/comparisons/new/?")
    form = client.get(answer["Location"]).content.decode()
    assert f'<option value="{pair.pk}" selected>' in form and re.search(r"selected>mine", form)

"""Asking for a comparison: checked, planned, enqueued; and nothing else happens in the web process."""

from __future__ import annotations

import html
import math
import re

import pytest

from decoding.dice.sampling import Sampling
from decoding.strategies import STRATEGIES
from tests.kit import make
from webapp.comparisons.models import Comparison
from webapp.comparisons.serializers import SamplingInput
from webapp.jobs.models import Job
from webapp.registry import services as registry
from webapp.registry.models import Dataset, Pair


def post(world, body, path="comparisons/"):
    return world.script("submit").post(f"/api/v1/{path}", body)


def planned(world, body):
    return post(world, body, "comparisons/?dry_run=true").json()


def labels_of(answer):
    return [run["label"] for run in answer.json()["runs"]]


def test_it_is_enqueued_says_where_it_waits_and_freezes_what_it_points_at(world, ready):
    answer = post(world, make.body(*ready, strategies=[{"strategy": "static"}]))
    shown = answer.json()
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/v1/comparisons/{shown['id']}/")
    assert labels_of(answer) == ["autoregressive", "static:4"]
    assert (shown["job"]["state"], shown["job"]["kind"], shown["job"]["total_count"]) == ("queued", "comparison", 6)
    assert shown["job"]["place"]["reason"].endswith("start one with `./drafthouse up`.")
    assert Pair.objects.get().frozen and Dataset.objects.get().frozen and Pair.objects.get().target.frozen
    asked = {**make.body(*ready), "pair": "pair", "dataset": "prompts", "strategies": ["static:4", "threshold:0.3"]}
    assert labels_of(post(world, asked)) == ["autoregressive", "static:4", "threshold:0.3"]


def test_a_dry_run_answers_the_plan_and_leaves_nothing(world, ready):
    plan = planned(world, make.body(*ready))
    assert (plan["run_count"], plan["prompt_count"], plan["sample_count"]) == (2, 3, 6)
    assert plan["minutes"] is None and any("no estimate of the time" in note for note in plan["notes"])
    assert plan["has_too_few_prompts"] and "3 prompts" in plan["shows"]
    assert not Comparison.objects.exists() and Pair.objects.get().frozen is None
    make.decode_all(make.comparison(world.actor(world.bob), pair=ready[0], dataset=ready[1]))
    plan = planned(world, make.body(*ready, strategies=["static", "heuristic"]))
    assert plan["minutes_low"] <= plan["minutes"] <= plan["minutes_high"] and plan["disk_bytes"] > 0
    assert plan["memory_bytes"] == sum(model.facts["weight_bytes"] for model in ready[0].by_role.values())
    assert "No worker listens" in plan["start"]
    assert any(note.startswith("Not measured with this pair yet: heuristic:5") for note in plan["notes"])


def test_what_nobody_named_gets_a_name_of_its_own_and_things_of_one_name_are_told_apart(world, by, ready):
    names = [post(world, make.body(*ready)).json()["name"] for _ in range(3)]
    assert names == ["pair on prompts", "pair on prompts (2)", "pair on prompts (3)"]
    body = {"kind": "oracle", "pair": str(ready[0].pk), "dataset": str(ready[1].pk)}
    studies = [post(world, body, "studies/").json()["name"] for _ in range(2)]
    assert studies == ["Oracle: pair on prompts", "Oracle: pair on prompts (2)"]
    twin = make.pair(by)
    form = world.page(world.bob).get("/comparisons/new/").content.decode()
    offered = [re.search(rf'<option value="{one.pk}"[^>]*>([^<]*)', form)[1] for one in (ready[0], twin)]
    assert len(set(offered)) == 2 and all(label.startswith("pair: target / draft, ") for label in offered)
    assert 'value="cpu"' in form and 'value="gpu"' not in form, "no worker listens to it"
    made = [make.comparison(by, pair=ready[0], dataset=ready[1]) for _ in range(2)]
    rows = world.page(world.bob).get("/comparisons/").content.decode()
    marks = [re.search(rf'{each.pk}/">one</a> <span class="quiet">([^<]+)', rows)[1] for each in made]
    assert len(set(marks)) == 2 and "pair on prompts (2)</a>\n" in rows


def test_what_is_out_of_bounds_or_names_nothing_is_named_and_leaves_nothing(world, by, ready, monkeypatch):
    monkeypatch.setattr("webapp.comparisons.specs.MOST_SAMPLES", 9)
    for _ in range(2):
        make.pair(by, name="twin")
    for changes, field, told in (
        ({"strategies": [{"strategy": "static", "params": {"lookahead": 65}}]}, "strategies.0", "outside 1 to 64"),
        ({"strategies": [{"strategy": "static"}, {"strategy": "static"}]}, "strategies.1", "twice"),
        ({"strategies": ["static:2,static:4"]}, "strategies.0", "names 2 strategies; give each an entry of its own"),
        ({"strategies": [{"strategy": "static"}] * 33}, "strategies", "32"),
        ({"split": "other"}, "split", "it has test"),
        ({"pair": "twin"}, "pair", "2 are called twin. Give the id"),
        ({"repeats": 2}, "limit", "2 strategies × 3 prompts × 2 repeats are 12;"),
    ):
        answer = post(world, {**make.body(*ready), **changes})
        assert (answer.status_code, answer.json()["field"]) == (400, field) and told in answer.json()["detail"]
    assert not Comparison.objects.exists()


def other_tokens(by, name):
    """A pair whose draft says other tokens, which are translated in this way."""
    models = {"target": make.model(by, "target", layers=4), "draft": make.model(by, "draft", layers=1, first="b")}
    return registry.add_pair(name=name, **models, other_tokenizer=name, by=by)


@pytest.fixture
def matching_texts(by):
    return other_tokens(by, "slem")


def test_where_texts_are_matched_what_needs_the_drafts_scores_is_refused_before_it_is_queued(
    world, by, ready, matching_texts
):
    """`hybrid`, trees and studies that follow the draft used to fail in the middle of the job."""
    prompts, before = ready[1], Job.objects.count()
    slugs = [slug for slug, spec in STRATEGIES.items() if spec.needs_scores]
    made_of = {"pair": str(matching_texts.pk), "dataset": str(prompts.pk)}
    answers = [post(world, make.body(matching_texts, prompts, strategies=["static:4", slug])) for slug in slugs]
    answers.append(post(world, {**made_of, "kind": "papers"}, "studies/"))
    answers.append(post(world, {**made_of, "name": "c"}, "classifiers/train/"))
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (400, "other-tokenizer")
        assert "needs a draft that says the target's tokens" in answer.json()["detail"]
    assert len(slugs) > 1 and Job.objects.count() == before
    for kind in ("oracle", "plan", "projection"):
        assert post(world, {**made_of, "kind": kind}, "studies/").status_code == 202, kind
    assert post(world, {**made_of, "name": "c", "design": "sources"}, "classifiers/train/").status_code == 202
    assert post(world, make.body(other_tokens(by, "tli"), prompts, strategies=["hybrid"])).status_code == 202


def test_a_run_names_the_very_classifier_that_will_decide(world, by, ready, matching_texts):
    def asked(strategy, pair=ready[0], **params):
        return post(world, make.body(pair, ready[1], strategies=[{"strategy": strategy, "params": params}]))

    def decides(answer):
        return answer.json()["runs"][-1]["params"]["classifier"]

    refused = asked("disco")
    assert (refused.status_code, refused.json()["field"]) == (400, "strategies.0.params.classifier")
    assert "Train one" in refused.json()["hint"]
    plain = make.classifier(by, ready[0])
    assert decides(asked("disco")) == decides(asked("disco", classifier=str(plain.pk)[:8])) == str(plain.pk)
    theirs = make.classifier(world.actor(world.charlie), make.pair(world.actor(world.charlie)))
    assert asked("disco", classifier=str(theirs.pk)).status_code == 400
    for which in ("newest", str(plain.pk)):
        assert "that has learned from copied tokens" in asked("hybrid", classifier=which).json()["detail"]
    of_copies = make.classifier(by, ready[0], design="sources")
    make.classifier(by, ready[0], "later")
    assert decides(asked("hybrid", classifier="newest")) == str(of_copies.pk)

    alone = make.classifier(by, matching_texts, design="sources", pair=[])  # as training on the target alone writes it
    assert decides(asked("suffix", matching_texts, classifier="newest")) == str(alone.pk)
    assert asked("disco", matching_texts).status_code == 400
    of_drafts = make.classifier(by, matching_texts)
    assert decides(asked("disco", matching_texts)) == str(of_drafts.pk)
    body = {"kind": "plan", "pair": str(matching_texts.pk), "dataset": str(ready[1].pk)}
    told = post(world, {**body, "classifier": str(of_drafts.pk)}, "studies/").json()
    assert told["field"] == "classifier" and told["detail"].endswith("another pair, or judges no copies.")


def test_strategies_and_sampling_are_offered_as_the_engine_has_them(world):
    """The serializer repeats bounds of decoding's Sampling; here they are held together."""
    fields = SamplingInput().fields
    assert set(fields) == set(Sampling().to_dict())
    for name, field in fields.items():
        if (low := getattr(field, "min_value", None)) is not None:
            Sampling(**{name: low})
            Sampling(**{name: field.max_value})
            beyond = -1 if low == 0 else low / 2 if isinstance(low, float) else low - 1
            for value in (beyond, field.max_value * 2 + 1, math.nan):
                with pytest.raises(Exception, match=name):
                    Sampling(**{name: value})
        assert list(Sampling().stop) == [] if name == "stop" else field.default == getattr(Sampling(), name)
    offered = world.api(world.victor).get("/api/v1/strategies/").json()
    assert [entry["slug"] for entry in offered] == list(STRATEGIES)
    lookahead = next(e for e in offered if e["slug"] == "static")["params"][0]
    assert (lookahead["low"], lookahead["high"], lookahead["default"]) == (1, 64, 4)


def value_in(page, box):
    return re.search(rf'name="{re.escape(box)}" type="number"[^>]*value="([^"]*)"', page)[1]


def test_the_form_takes_the_sampling_of_the_classifier_that_it_opens_with_or_when_a_button_asks(world, by, ready):
    make.classifier(by, ready[0])
    pair, prompts = map(str, (ready[0].pk, ready[1].pk))
    opened = world.page(world.bob).get(f"/comparisons/new/?pair={pair}&dataset={prompts}&strategies=disco")
    assert value_in(opened.content.decode(), "temperature") == "0.6"
    form = {"pair": pair, "dataset": prompts, "use": "disco", "queue": "cpu", "temperature": "0.0"}
    shown = world.page(world.bob).post("/comparisons/new/", {**form, "describe": "1"}).content.decode()
    assert value_in(shown, "temperature") == "0.0" and "Use its sampling" in shown
    taken = world.page(world.bob).post("/comparisons/new/", {**form, "describe": "use-sampling"}).content.decode()
    assert value_in(taken, "temperature") == "0.6" and "trained with" not in taken


def test_where_a_classifier_is_missing_the_plan_links_to_the_form_that_trains_it(world, ready, matching_texts):
    client, train = world.page(world.bob), '<a href="/classifiers/train/?pair='
    form = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "use": "disco", "queue": "cpu", "temperature": "0.6"}
    page = client.post("/comparisons/new/", {**form, "launch": ""}).content.decode()
    assert page.count("has no classifier yet") == 1 and not Comparison.objects.exists()
    address = html.unescape(re.search(rf'{re.escape(train)}[^"]*', page)[0].partition('"')[2])
    training = client.get(address).content.decode()
    assert f'value="{ready[0].pk}" selected' in training and value_in(training, "temperature") == "0.6"
    copies = {**form, "use": "suffix", "suffix.classifier": "newest", "describe": "1"}
    assert "design=sources" in client.post("/comparisons/new/", copies).content.decode()
    of_drafts = client.post("/comparisons/new/", {**form, "pair": str(matching_texts.pk), "describe": "1"})
    assert train not in of_drafts.content.decode()


def test_a_form_holds_each_setting_of_a_strategy_in_a_box_of_its_own(world, by, ready):
    """A clone used to merge settings that differ in more than the first parameter."""
    made = make.classifier(by, ready[0], design="sources")
    asked = ["suffix:0.3", "suffix:0.5", "suffix:memory=true", "disco-suffix", "hybrid", "hybrid:newest"]
    first = post(world, make.body(*ready, strategies=asked))
    ran = labels_of(first)
    assert ran[4:] == [f"suffix:0,classifier={str(made.pk)[:8]}", "hybrid", f"hybrid:{str(made.pk)[:8]}"]
    client = world.page(world.bob)
    shown = client.get(f"/comparisons/new/?clone={first.json()['id']}").context["form"]
    boxes = [box for box in shown.strategies if box.is_chosen]
    assert [box.key for box in boxes] == ["autoregressive", "suffix", "suffix~2", "suffix~3", "hybrid", "hybrid~2"]
    fields = [(part.name, part.value.lower()) for box in boxes for part in (box.first, *box.rest) if part]
    posted = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "queue": "cpu", **dict(fields)}
    client.post("/comparisons/new/", {**posted, "use": [box.key for box in boxes], "launch": ""})
    again = Comparison.objects.exclude(pk=first.json()["id"]).get()
    assert [run.label for run in again.runs.all()] == ran
    another = client.post("/comparisons/new/", {**posted, "use": "suffix", "describe": "another suffix"})
    suffixes = [box for box in another.context["form"].strategies if box.spec.slug == "suffix"]
    assert [(box.key, box.is_chosen) for box in suffixes] == [("suffix", True), ("suffix~2", False)]


def test_a_run_says_its_price_and_that_its_machine_is_not_that_of_its_classifiers_card(world, by, ready):
    own = make.classifier(by, ready[0])
    made = Comparison.objects.get(pk=post(world, make.body(*ready, strategies=["disco"])).json()["id"])
    prices = {str(own.pk): {"rules": {"priced": {"card": 0.4, "run": 0.8, "doubt": 0.15}}, "costs": {"target": [0]}}}
    Comparison.objects.filter(pk=made.pk).update(hardware={"device_name": "another machine"}, prices=prices)
    made.refresh_from_db()
    make.decode_all(made)
    report = world.api(world.bob).get(f"/api/v1/comparisons/{made.pk}/report/").json()
    alone, disco = report["strategies"]
    assert alone["price"] is None
    assert (disco["price"]["run"], disco["price"]["used"], disco["price"]["is_own"]) == (0.8, 0.8, True)
    assert any("measured on a machine; this runs on another machine" in line for line in report["warnings"])
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/").content.decode()
    assert "+100 % is more than the doubt of 15 %, so it used its own price." in page

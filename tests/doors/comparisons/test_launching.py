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
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import services as registry
from webapp.registry.models import Dataset, Pair
from webapp.studies.classifiers import services as classifying


def post(world, body, **options):
    return world.script("submit").post("/api/v1/comparisons/", body, **options)


def test_it_is_enqueued_says_where_it_waits_and_freezes_what_it_points_at(world, ready):
    answer = post(world, make.body(*ready))
    shown = answer.json()
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/v1/comparisons/{shown['id']}/")
    assert [run["label"] for run in shown["runs"]] == ["autoregressive", "static:4"]
    assert (shown["job"]["state"], shown["job"]["kind"], shown["job"]["total_count"]) == ("queued", "comparison", 6)
    assert shown["job"]["place"]["reason"].endswith("start one with `./drafthouse up`.")
    assert shown["sampling"]["temperature"] == 0.0
    post(world, make.body(*ready))
    assert Pair.objects.get().frozen and Dataset.objects.get().frozen and Pair.objects.get().target.frozen


def test_strategies_are_named_as_on_the_command_line_and_the_baseline_comes_first(world, ready):
    body = make.body(*ready, strategies=[{"strategy": "static"}])
    assert [run["label"] for run in post(world, body).json()["runs"]] == ["autoregressive", "static:4"]
    asked = {**make.body(*ready), "pair": "pair", "dataset": "prompts", "strategies": ["static:4", "threshold:0.3"]}
    labels = [run["label"] for run in post(world, asked).json()["runs"]]
    assert labels == ["autoregressive", "static:4", "threshold:0.3"]


def test_a_dry_run_answers_the_plan_and_leaves_nothing(world, ready):
    jobs = Job.objects.count()
    answer = world.script("submit").post("/api/v1/comparisons/?dry_run=true", make.body(*ready))
    plan = answer.json()
    assert answer.status_code == 200
    assert (plan["run_count"], plan["prompt_count"], plan["sample_count"]) == (2, 3, 6)
    assert plan["minutes"] is None and plan["disk_bytes"] > 0
    assert any("no estimate of the time" in note for note in plan["notes"])
    assert plan["has_too_few_prompts"] and "3 prompts" in plan["shows"]
    assert not Comparison.objects.exists() and Job.objects.count() == jobs
    assert Pair.objects.get().frozen is None


def test_comparisons_and_studies_that_nobody_named_get_names_of_their_own(world, ready):
    names = [post(world, make.body(*ready)).json()["name"] for _ in range(3)]
    assert names == ["pair on prompts", "pair on prompts (2)", "pair on prompts (3)"]
    body = {"kind": "oracle", "pair": str(ready[0].pk), "dataset": str(ready[1].pk)}
    studies = [world.script("submit").post("/api/v1/studies/", body).json()["name"] for _ in range(2)]
    assert studies == ["Oracle: pair on prompts", "Oracle: pair on prompts (2)"]


def test_lists_and_choices_tell_things_of_one_name_apart(world, by, ready):
    twins = [make.pair(by), make.pair(by)]
    form = world.page(world.bob).get("/comparisons/new/").content.decode()
    offered = [re.search(rf'<option value="{one.pk}"[^>]*>([^<]*)', form)[1] for one in (ready[0], *twins)]
    assert len(set(offered)) == 3 and all(label.startswith("pair: target / draft, ") for label in offered)
    made = [make.comparison(by, pair=ready[0], dataset=ready[1]) for _ in range(2)]
    rows = world.page(world.bob).get("/comparisons/").content.decode()
    marks = [re.search(rf'{each.pk}/">one</a> <span class="quiet">([^<]+)', rows)[1] for each in made]
    assert len(set(marks)) == 2
    alone = make.comparison(by, pair=ready[0], dataset=ready[1])
    Comparison.objects.filter(pk=alone.pk).update(name="of its own")
    assert "of its own</a>\n" in world.page(world.bob).get("/comparisons/").content.decode()


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"strategies": [{"strategy": "static", "params": {"lookahead": 65}}]}, "strategies.0", "outside 1 to 64"),
        ({"strategies": [{"strategy": "static"}, {"strategy": "static"}]}, "strategies.1", "twice"),
        ({"sampling": {"stop": [""]}}, "sampling.stop", ""),
        ({"strategies": [{"strategy": "static"}] * 33}, "strategies", ""),
        ({"queue": "light"}, "queue", "light"),
        ({"split": "other"}, "split", "it has test"),
        ({"strategy": []}, "strategy", "known"),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_named_and_leaves_nothing(world, ready, changes, field, told):
    answer = post(world, make.body(*ready, **changes))
    assert answer.status_code == 400
    assert answer.json()["field"].startswith(field)
    assert told in answer.json()["detail"]
    assert not Comparison.objects.exists()


def test_a_name_that_names_nothing_or_several_is_told(world, ready):
    for name, user in (("twin", world.bob), ("twin", world.bob), ("theirs", world.charlie)):
        make.pair(world.actor(user), name=name)
    for changes, field, told in (
        ({"strategies": ["static:2,static:4"]}, "strategies.0", "names 2 strategies; give each an entry of its own"),
        ({"pair": "twin"}, "pair", "2 are called twin. Give the id"),
        ({"pair": "theirs"}, "pair", "it must be an id"),
        ({"dataset": "no such"}, "dataset", "or the name of one of them"),
    ):
        answer = post(world, {**make.body(*ready), **changes})
        assert (answer.status_code, answer.json()["field"]) == (400, field) and told in answer.json()["detail"]
    assert not Comparison.objects.exists()


def test_too_many_samples_are_refused_with_the_sum(world, ready, monkeypatch):
    monkeypatch.setattr("webapp.comparisons.specs.MOST_SAMPLES", 5)
    answer = post(world, make.body(*ready))
    assert "2 strategies × 3 prompts × 1 repeats are 6;" in answer.json()["detail"]


def test_where_texts_are_matched_what_needs_the_drafts_scores_is_refused_before_it_is_queued(world, by):
    """`hybrid` and trees used to fail in the middle of the job."""
    prompts, matching = make.dataset(by), [other_tokens(by, name) for name in ("auto", "slem")]
    for slug in (slug for slug, spec in STRATEGIES.items() if spec.needs_scores):
        for pair in matching:  # they share few tokens of the sample text
            answer = post(world, make.body(pair, prompts, strategies=["static:4", slug]))
            told = answer.json()
            assert (answer.status_code, told["field"], told["code"]) == (400, "strategies.1", "other-tokenizer")
            assert "needs a draft that says the target's tokens, and this pair matches text (SLEM)" in told["detail"]
    assert not Comparison.objects.exists()
    assert post(world, make.body(other_tokens(by, "tli"), prompts, strategies=["hybrid"])).status_code == 202


def other_tokens(by, name):
    """A pair whose draft says other tokens, which are translated in this way."""
    models = {"target": make.model(by, "target", layers=4), "draft": make.model(by, "draft", layers=1, first="b")}
    return registry.add_pair(name=name, **models, other_tokenizer=name, by=by)


@pytest.fixture
def matching_texts(by):
    return other_tokens(by, "slem")


STUDY, TRAINING = "studies/", "classifiers/train/"


def test_where_texts_are_matched_studies_keep_what_the_target_alone_has(world, ready, matching_texts):
    """Studies that follow the draft used to fail in their job, and all others to be refused."""

    def launched(path, **asked):
        body = {**asked, "pair": str(matching_texts.pk), "dataset": str(ready[1].pk)}
        return world.script("submit").post(f"/api/v1/{path}", body)

    before = Job.objects.count()
    for answer, what in (
        (launched(STUDY, kind="papers"), "A study of the kind papers"),
        (launched(TRAINING, name="c"), "Training a classifier of the design ours"),
    ):
        told = answer.json()
        assert (answer.status_code, told["field"], told["code"]) == (400, "pair", "other-tokenizer")
        assert told["detail"].startswith(f"{what} needs a draft that says the target's tokens")
    assert Job.objects.count() == before
    for kind in ("oracle", "plan", "projection"):
        assert launched(STUDY, kind=kind).status_code == 202, kind
    assert launched(TRAINING, name="c", design="sources").status_code == 202


def test_where_texts_are_matched_disco_on_drafts_takes_no_classifier_of_copies(world, by, ready, matching_texts):
    def add(name, **card):
        upload = make.upload(by, make.card(**card))
        return classifying.add_classifier(name=name, pair=matching_texts, upload=upload, by=by)

    def asked(label):
        return post(world, make.body(matching_texts, ready[1], strategies=[label]))

    of_copies = add("copies", design="sources", pair=[])  # as training on the target alone writes it
    assert asked("suffix:classifier=newest").json()["runs"][-1]["params"]["classifier"] == str(of_copies.pk)
    refused = asked("disco")
    assert refused.status_code == 400
    of_drafts = add("drafts")
    assert asked("disco").json()["runs"][-1]["params"]["classifier"] == str(of_drafts.pk)
    body = {"kind": "plan", "pair": str(matching_texts.pk), "dataset": str(ready[1].pk)}
    told = world.script("submit").post(f"/api/v1/{STUDY}", {**body, "classifier": str(of_drafts.pk)}).json()
    assert told["field"] == "classifier" and told["detail"].endswith("another pair, or judges no copies.")


def test_strategies_and_sampling_are_offered_as_the_engine_has_them(world):
    """The serializer repeats bounds of decoding.choice.Sampling; here they are held together."""
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
    classifying.add_classifier(name="c", pair=ready[0], upload=make.upload(by, make.card()), by=by)
    pair, prompts = map(str, (ready[0].pk, ready[1].pk))
    opened = world.page(world.bob).get(f"/comparisons/new/?pair={pair}&dataset={prompts}&strategies=disco")
    assert value_in(opened.content.decode(), "temperature") == "0.6"
    form = {"pair": pair, "dataset": prompts, "use": "disco", "queue": "cpu", "temperature": "0.0"}
    shown = world.page(world.bob).post("/comparisons/new/", {**form, "describe": "1"}).content.decode()
    assert value_in(shown, "temperature") == "0.0" and "Use its sampling" in shown
    taken = world.page(world.bob).post("/comparisons/new/", {**form, "describe": "use-sampling"}).content.decode()
    assert value_in(taken, "temperature") == "0.6" and value_in(taken, "repetition_penalty") == "1.1"
    assert "trained with" not in taken and not Comparison.objects.exists()


def test_where_a_classifier_is_missing_the_plan_links_to_the_form_that_trains_it(world, ready, matching_texts):
    client, train = world.page(world.bob), '<a href="/classifiers/train/?pair='
    form = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "use": "disco", "queue": "cpu", "temperature": "0.6"}
    for more in ({"describe": "1"}, {"launch": ""}):
        page = client.post("/comparisons/new/", {**form, **more}).content.decode()
        assert page.count("has no classifier yet") == 1
        address = html.unescape(re.search(rf'{re.escape(train)}[^"]*', page)[0].partition('"')[2])
    assert not Comparison.objects.exists()
    training = client.get(address).content.decode()
    assert f'value="{ready[0].pk}" selected' in training and f'value="{ready[1].pk}" selected' in training
    assert 'name="temperature" type="number"' in training and value_in(training, "temperature") == "0.6"
    of_copies = client.post(
        "/comparisons/new/", {**form, "use": "suffix", "suffix.classifier": "newest", "describe": "1"}
    ).content.decode()
    assert f"{train}{ready[0].pk}&amp;dataset={ready[1].pk}" in of_copies and "design=sources" in of_copies
    of_drafts = client.post("/comparisons/new/", {**form, "pair": str(matching_texts.pk), "describe": "1"})
    assert train not in of_drafts.content.decode()


def test_disco_names_the_very_classifier_that_will_decide(world, ready):
    disco = {"strategies": [{"strategy": "disco"}]}
    refused = post(world, make.body(*ready, **disco))
    assert (refused.status_code, refused.json()["field"]) == (400, "strategies.0.params.classifier")
    assert "Train one" in refused.json()["hint"]
    by = world.actor(world.bob)
    upload = make.upload(by, {"c.safetensors": make.safetensors({"w": [2]}), "card.json": b"{}"})
    made = classifying.add_classifier(name="c", pair=ready[0], upload=upload, by=by)
    shown = post(world, make.body(*ready, **disco)).json()
    assert shown["runs"][1]["params"]["classifier"] == str(made.pk)
    as_labelled = {"strategies": [{"strategy": "disco", "params": {"classifier": str(made.pk)[:8]}}]}
    assert post(world, make.body(*ready, **as_labelled)).json()["runs"][1]["params"]["classifier"] == str(made.pk)
    theirs = make.pair(world.actor(world.charlie))
    stranger = classifying.add_classifier(name="c", pair=theirs, upload=upload, by=world.actor(world.charlie))
    asked = {"strategies": [{"strategy": "disco", "params": {"classifier": str(stranger.pk)}}]}
    assert post(world, make.body(*ready, **asked)).status_code == 400


def test_a_classifier_that_has_not_learned_from_copies_is_refused_for_copies(world, by, ready):
    plain = classifying.add_classifier(name="plain", pair=ready[0], upload=make.upload(by, make.card()), by=by)
    for params in ({"classifier": "newest"}, {"classifier": str(plain.pk)}):
        refused = post(world, make.body(*ready, strategies=[{"strategy": "hybrid", "params": params}]))
        assert (refused.status_code, refused.json()["field"]) == (400, "strategies.0.params.classifier")
        assert "that has learned from copied tokens" in refused.json()["detail"]
    upload = make.upload(by, make.card(design="sources"))
    made = classifying.add_classifier(name="sources", pair=ready[0], upload=upload, by=by)
    for older in (None, plain):  # the one that fits is found whichever came last
        if older:
            classifying.add_classifier(name="later", pair=ready[0], upload=make.upload(by, make.card()), by=by)
        shown = post(world, make.body(*ready, strategies=["hybrid:newest"])).json()
        assert shown["runs"][-1]["params"]["classifier"] == str(made.pk)


def test_a_form_holds_each_setting_of_a_strategy_in_a_box_of_its_own(world, by, ready):
    """A clone used to merge settings that differ in more than the first parameter."""
    upload = make.upload(by, make.card(design="sources"))
    made = classifying.add_classifier(name="sources", pair=ready[0], upload=upload, by=by)
    labels = ["suffix:0.3", "suffix:0.5", "suffix:memory=true", "disco-suffix", "hybrid", "hybrid:newest"]
    first = post(world, make.body(*ready, strategies=labels)).json()
    ran = [run["label"] for run in first["runs"]]
    assert ran[4:] == [f"suffix:0,classifier={str(made.pk)[:8]}", "hybrid", f"hybrid:{str(made.pk)[:8]}"]
    client = world.page(world.bob)
    shown = client.get(f"/comparisons/new/?clone={first['id']}").context["form"]
    boxes = [box for box in shown.strategies if box.is_chosen]
    assert [box.key for box in boxes] == ["autoregressive", "suffix", "suffix~2", "suffix~3", "hybrid", "hybrid~2"]
    fields = [(part.name, part.value.lower()) for box in boxes for part in (box.first, *box.rest) if part]
    posted = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "queue": "cpu", **dict(fields)}
    client.post("/comparisons/new/", {**posted, "use": [box.key for box in boxes], "launch": ""})
    again = Comparison.objects.exclude(pk=first["id"]).get()
    assert [run.label for run in again.runs.all()] == ran
    another = client.post("/comparisons/new/", {**posted, "use": "suffix", "describe": "another suffix"})
    suffixes = [box for box in another.context["form"].strategies if box.spec.slug == "suffix"]
    assert [(box.key, box.is_chosen) for box in suffixes] == [("suffix", True), ("suffix~2", False)]


def test_cloning_changes_what_is_given_and_keeps_the_rest(world, ready):
    first = post(world, make.body(*ready, repeats=2)).json()
    answer = world.script("submit").post(f"/api/v1/comparisons/{first['id']}/clone/", {"repeats": 3, "name": "again"})
    second = answer.json()
    assert (answer.status_code, second["repeats"], second["name"]) == (202, 3, "again")
    assert second["cloned_from"] == first["id"] and second["sampling"] == first["sampling"]
    assert [run["label"] for run in second["runs"]] == [run["label"] for run in first["runs"]]


def test_the_bin_hides_and_gives_back_and_a_job_is_cancelled_and_tried_again(world, ready):
    made = post(world, make.body(*ready)).json()
    address, job = f"/api/v1/comparisons/{made['id']}/", f"/api/v1/jobs/{made['job']['id']}/"
    client = world.script("submit")
    client.delete(address)
    assert client.get("/api/v1/comparisons/").json()["count"] == 0
    client.post(f"{address}restore/")
    assert client.get("/api/v1/comparisons/", {"strategy": "static", "state": "queued"}).json()["count"] == 1
    assert client.post(f"{job}retry/").status_code == 409
    assert client.post(f"{job}cancel/").json()["state"] == "cancelled"
    assert client.post(f"{job}retry/").json()["state"] == "queued"


def test_a_page_shows_the_price_of_a_run_and_that_its_machine_is_not_that_of_the_classifiers_card(world, by, ready):
    own = classifying.add_classifier(name="c", pair=ready[0], upload=make.upload(by, make.card()), by=by)
    asked = make.body(*ready, strategies=[{"strategy": "disco"}])
    made = Comparison.objects.get(pk=post(world, asked).json()["id"])
    price = {"card": 0.4, "run": 0.8, "doubt": 0.15}
    prices = {str(own.pk): {"rules": {"priced": price}, "costs": {"target": [0]}}}
    Comparison.objects.filter(pk=made.pk).update(hardware={"device_name": "another machine"}, prices=prices)
    made.refresh_from_db()
    make.decode_all(made)
    report = world.api(world.bob).get(f"/api/v1/comparisons/{made.pk}/report/").json()
    prices = {row["strategy"]: row["price"] for row in report["strategies"]}
    assert prices["autoregressive"] is None
    assert (prices["disco"]["run"], prices["disco"]["used"], prices["disco"]["is_own"]) == (0.8, 0.8, True)
    assert any("measured on a machine; this runs on another machine" in line for line in report["warnings"])
    page = world.page(world.bob).get(f"/comparisons/{made.pk}/").content.decode()
    assert "+100 % is more than the doubt of 15 %, so it used its own price." in page


def test_form_and_rest_say_before_the_launch_that_the_machine_is_not_the_classifiers(world, by, ready):
    made = classifying.add_classifier(name="c", pair=ready[0], upload=make.upload(by, make.card()), by=by)
    sampling = {name: made.card["sampling"][name] for name in ("temperature", "repetition_penalty")}
    asked = make.body(*ready, strategies=[{"strategy": "disco"}], sampling=sampling)
    form = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "use": "disco", "queue": "cpu", "plan": ""}
    jobs.announce(name="elsewhere", queues=["gpu"], devices=["cuda:0, of another queue, 8 GiB"], versions={})
    for name, device, said in (
        ("w0", "cpu", ""),  # nobody knows which it is
        ("w0", "cpu, another machine", "measured on a machine; this runs on cpu, another machine."),
        ("w1", "cuda:0, a third, 8 GiB", "this runs on cpu, another machine or cuda:0, a third, 8 GiB."),
        ("w2", "cpu, a machine", ""),  # the card's
    ):
        jobs.announce(name=name, queues=["cpu"], devices=[device], versions={})
        notes = world.script("submit").post("/api/v1/comparisons/?dry_run=true", asked).json()["notes"]
        found = [note for note in notes if "uses a classifier" in note]
        assert len(found) == bool(said) and all(said in note for note in found), device
        page = world.page(world.bob).post("/comparisons/new/", {**form, **sampling}).content.decode()
        assert ("uses a classifier whose prices were measured on a machine;" in page) == bool(said) and said in page


def test_a_plan_says_time_with_its_doubt_memory_and_who_begins(world, ready):
    decoded = make.comparison(world.actor(world.bob), pair=ready[0], dataset=ready[1])
    make.decode_all(decoded)
    body = make.body(*ready, strategies=[{"strategy": "static"}, {"strategy": "heuristic"}])
    plan = world.script("submit").post("/api/v1/comparisons/?dry_run=true", body).json()
    assert plan["minutes_low"] <= plan["minutes"] <= plan["minutes_high"]
    weights = [model.facts["weight_bytes"] for model in ready[0].by_role.values()]
    assert plan["memory_bytes"] == sum(weights)
    assert plan["start"].startswith("Worker ") or "No worker listens" in plan["start"]
    assert any(note.startswith("Not measured with this pair yet: heuristic:5") for note in plan["notes"])

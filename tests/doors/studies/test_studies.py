"""Requests for an oracle or a plan, and the content of its page and its document."""

from __future__ import annotations

import html
import re

import pytest

from decoding.drafting.records import Record
from decoding.public import paying
from decoding.replay.oracle import analyse
from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.core.problems import Conflict
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.models import Pair
from webapp.studies import reading, services
from webapp.studies.kinds import KINDS, PLAN, PROJECTION
from webapp.studies.models import Study
from webapp.studies.serializers import CARDS


def post(world, ready, **changes):
    body = {"kind": "oracle", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), **changes}
    return world.script("submit").post("/api/v1/studies/", body)


def test_it_is_enqueued_frozen_and_written_down(world, ready):
    answer = post(world, ready, sampling={"max_new_tokens": 8})
    shown = answer.json()
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/v1/studies/{shown['id']}/")
    assert (shown["kind"], shown["job"]["state"], shown["job"]["total_count"]) == ("oracle", "queued", 3)
    assert shown["name"] == "Oracle: pair on prompts" and shown["sampling"]["max_new_tokens"] == 8
    assert Pair.objects.get().frozen
    assert AuditEntry.objects.filter(verb="launched", subject="study").count() == 1


def test_what_cannot_be_studied_is_named_and_leaves_nothing(world, ready):
    before = Job.objects.count()
    for changes, field, told in (
        ({"kind": "comparison"}, "kind", "comparison"),
        ({"split": "other"}, "split", "it has test"),
        ({"loads": [1, 4]}, "loads", "A study of the kind oracle is not made for several users at once."),
        ({"classifier": "00000000-0000-0000-0000-000000000000"}, "classifier", "you may not see it"),
        ({"kind": "plan", "loads": [4, 4]}, "loads", "named twice"),
        ({"kind": "plan", "loads": list(range(1, 10))}, "loads", "8"),
    ):
        answer = post(world, ready, **changes)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert told in answer.json()["detail"]
    assert not Study.objects.exists() and Job.objects.count() == before


def test_the_document_is_a_file_once_it_is_there_and_a_sentence_before(world, ready):
    waiting = post(world, ready).json()["id"]
    early = world.api(world.victor).get(f"/api/v1/studies/{waiting}/document/")
    assert (early.status_code, early.json()["code"], early.json()["state"]) == (409, "not-found-yet", "queued")
    study = make.study(world.actor(world.bob), pair=ready[0], dataset=ready[1])
    answer = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/document/")
    found = answer.json()
    assert answer["Content-Disposition"] == f'attachment; filename="oracle-{study.pk}.json"'
    assert found["format"] == "drafthouse.oracle/1" and found["prompts"]["set"] == "prompts"
    assert sum(found["histogram"]) == found["oracle"]["target"]


def test_the_page_of_an_oracle_says_its_verdict_and_draws_other_sets_beside(world, by, ready):
    study = make.study(by, pair=ready[0], dataset=ready[1])
    make.study(by, pair=ready[0], dataset=make.dataset(by, name="prose"))
    answer = world.page(world.victor).get(f"/studies/{study.pk}/")
    shown = answer.content.decode()
    assert "The best draft is 1.2 tokens long on average" in shown
    assert [each["name"] for each in answer.context["sets"]] == ["prompts", "prose"]
    assert shown.index("The best draft") < shown.index("<table")


def test_an_oracle_says_what_to_set_to_begin_with_and_where_the_best_is_found(world, by, ready):
    for mean, said in ((1.2, "static:1"), (0.3, ""), (99.0, "static:64")):
        study = make.study(by, document={**make.STUDIES["oracle"], "mean": mean}, pair=ready[0], dataset=ready[1])
        shown = world.page(world.bob).get(f"/studies/{study.pk}/").content.decode()
        assert (f"Begin with <b>{said}</b>" in shown) is bool(said) is not ("best without a draft" in shown)
        assert (f"--speculative-num-steps {said.partition(':')[2]}" in shown) is bool(said)  # SGLang
        assert (f"/studies/new/?kind=plan&amp;pair={ready[0].pk}&amp;dataset={ready[1].pk}" in shown) is bool(said)


def test_an_oracle_of_copies_says_which_to_begin_with(world, ready):
    passes = {"target": 9, "draft": 0, "accepted": 4}
    sources = {"best of each position": {**passes, "target": 7}, "lookup:10": passes}
    document = {**make.STUDIES["oracle"], "sources": sources}
    asked = {"pair": make.target_alone(world.actor(world.bob)), "dataset": ready[1]}
    study = make.study(world.actor(world.bob), document=document, **asked)
    shown = world.page(world.bob).get(f"/studies/{study.pk}/").content.decode()
    assert "Begin with <b>lookup:10</b>" in shown and "prompt_lookup_max" in shown


def test_pages_of_studies_without_a_draft_say_whose_drafts_they_show(world, by, ready):
    asked = {"pair": make.target_alone(by), "dataset": ready[1]}
    oracle = make.study(by, **asked)
    shown = world.page(world.victor).get(f"/studies/{oracle.pk}/").content.decode()
    assert "No draft was recorded: oracle and static:5 take the best copy at each position." in shown
    document = {**make.STUDIES["projection"], "map": None}
    projection = make.study(by, kind=PROJECTION, card=CARDS[0][0], document=document, **asked)
    shown = world.page(world.victor).get(f"/studies/{projection.pk}/").content.decode()
    assert "best-map" not in shown and 'id="found"' in shown


def test_the_page_of_an_oracle_has_a_row_for_each_source_of_drafts(world, ready):
    study = make.study(world.actor(world.bob), pair=ready[0], dataset=ready[1])
    model, copied = (Record.of([letter == "x" for letter in found]) for found in ("xx.x..xxx", "..xxxx..."))
    copies = {"lookup": [copied], "suffix:0.3,memory=true": [copied]}
    sources = analyse(["p"], [model], 4, copies)["sources"]
    study.document["sources"] = sources
    study.save()
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    table = shown[shown.index('aria-label="Sources of drafts"') :].partition("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t", row) for row in table.partition("<tbody>")[2].split("<tr>")[1:]]
    bound = "best of each position"  # it takes the draft model's tokens, so no draft would be free
    assert {row[0]: row[1:] for row in rows if row[0] != bound} == {
        name: [str(row[of]) for of in ("target", "draft", "accepted")] for name, row in sources.items() if name != bound
    }
    assert "not counted" in table and "The draft's passes are not counted in this\n  bound." in shown
    assert [row[0] for row in rows] == ["best of each position", "draft model", "lookup", "suffix:0.3,memory=true"]
    assert "suffix:memory=true copies from earlier requests, so what it gains depends on their order." in shown


def test_a_plan_is_handed_to_the_form_of_a_comparison_whole(world, ready):
    study = make.study(world.actor(world.bob), PLAN, pair=ready[0], dataset=ready[1])
    settings = [row for row in study.document["settings"] if row["strategy"] != "disco"]
    study.document["settings"] = settings  # its classifier is nobody's here
    study.document["noise"] = "Other programs used 40% of the 2 cores."
    study.save()
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "num_assistant_tokens=" in shown and "--speculative-config" in shown and "not run" in shown
    assert "Noisy: Other programs used 40% of the 2 cores. Plan again on a quiet machine" in shown
    assert "Run as a comparison" not in shown  # viewers may only look
    posted: dict[str, list[str]] = {}
    for name, value in reading.comparison_of(study):
        posted.setdefault(name, []).append(str(value))
    plan = world.page(world.bob).post("/comparisons/new/", {**posted, "plan": ""})
    assert plan.status_code == 200
    labels = plan.context["plan"].labels
    ranked = [reading.setting(row)["short"] for row in settings if row["role"] == "ranked"]
    assert labels == ["autoregressive", *ranked]


def test_a_plan_for_several_users_shows_the_best_settings_by_load_and_what_to_set(world, ready):
    launched = post(world, ready, kind="plan", loads=[4, 1]).json()
    assert launched["loads"] == [1, 4]
    study = make.study(world.actor(world.bob), PLAN, pair=ready[0], dataset=ready[1])
    at_load = study.document["at_load"]
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "4 at once" in shown and at_load["planned"] in shown
    assert "--spec-draft-n-max" in shown and "takes EAGLE drafts only" in shown
    for crossover in at_load["crossovers"]:
        assert html.escape(paying(crossover)) in shown
    study.document["at_load"] = {**at_load, "elsewhere": []}
    study.save()
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "no fixed lookahead and no copy is a gain" in shown
    study.document["at_load"] = None  # made for one user
    study.save()
    assert "At several users at once" not in world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()


def test_a_plan_that_gained_nothing_does_not_boast(world):
    row = {"strategy": "static", "params": {"lookahead": 2}, "speedup": 1.4, "role": "ranked"}
    doubtful = {"settings": [{**row, "measured": {"ratio": 1.1, "low": 0.9, "high": 1.3, "prompts": 9}}]}
    assert reading.verdict_of_plan(doubtful).startswith("No strategy is shown to be faster than autoregressive here;")
    sure = {"settings": [{**row, "measured": {"ratio": 1.3, "low": 1.2, "high": 1.4, "prompts": 9}}]}
    assert reading.verdict_of_plan(sure).startswith("Set static:2: it ran 1.30 times as fast")
    few = {"settings": [{**row, "measured": {"ratio": 1.3, "low": None, "high": None, "prompts": 3}}]}
    assert reading.verdict_of_plan(few).startswith("static:2 ran 1.30 times as fast as autoregressive on 3 prompts")
    assert "too few to say how sure" in reading.verdict_of_plan(few)
    assert [[row["is_advised"] for row in reading.settings(plan)] for plan in (doubtful, sure, few)] == [[0], [1], [0]]


def test_the_setting_that_a_plan_advises_is_marked_and_its_headline_breaks_at_no_per_cent_sign(world, ready):
    study = make.study(world.actor(world.bob), PLAN, pair=ready[0], dataset=ready[1])
    best = max((row for row in study.document["settings"] if row["measured"]), key=lambda row: row["measured"]["ratio"])
    best["measured"] |= {"low": 1.1}
    study.save()
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "(95\u202f% interval" in re.search("<h1.*</h1>", shown)[0]
    [marked] = re.findall('<tr class="[^"]* winner">.*?</tr>', shown, re.DOTALL)
    assert "advised" in marked and reading.setting(best)["short"] in marked


def test_a_study_is_launched_from_its_form_and_slips_are_told_beside_the_field(world, ready):
    client = world.page(world.bob)
    form = {"kind": "plan", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "lookahead": "5", "queue": "cpu"}
    wrong = client.post("/studies/new/", {**form, "sampling.temperature": "1", "sampling.top_p": "0"})
    assert wrong.status_code == 422 and "greater than or equal to 1e-06" in wrong.content.decode()
    made = client.post("/studies/new/", {**form, "sampling.temperature": "0.6", "sampling.max_new_tokens": "16"})
    study = Study.objects.get()
    assert made["Location"] == f"/studies/{study.pk}/"
    assert (study.kind, study.sampling["temperature"], study.sampling["max_new_tokens"]) == ("plan", 0.6, 16)
    shown = client.get(f"/studies/{study.pk}/").content.decode()
    assert "No worker listens" in shown and "Cancel" in shown


def test_the_form_of_a_study_shows_its_plan_and_why_there_is_none(world, ready):
    client = world.page(world.bob)
    jobs.announce(name="w1", queues=["cpu"], devices=["cpu"], versions={})
    shown = client.get("/studies/new/").content.decode()
    assert f"{ready[1].prompt_count} prompts, at most" in shown and "Worker w1 is free and begins at once." in shown
    form = {"kind": "plan", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "describe": "1"}
    for name, value, told in (
        ("limit", "1", "<p>1 prompt, at most"),
        ("queue", "gpu", "No worker listens on <code>gpu</code>"),
        ("split", "none", "has no split &#x27;none&#x27;"),
        ("pair", "", "Choose a pair and prompts"),
    ):
        assert told in client.post("/studies/new/", {**form, name: value}).content.decode()
    assert not Study.objects.exists()


def planned(world, ready, form, **chosen):
    asked = {"pair": str(ready[0].pk), "dataset": str(ready[1].pk), "describe": "1", **chosen}
    page = world.page(world.bob).post(form, asked)
    return page.context["plan"], page.content.decode()


@pytest.mark.parametrize(("kind", "most"), [("oracle", 3), ("papers", 200)])
def test_the_form_of_a_study_says_how_many_samples_and_how_long_before_its_launch(world, ready, kind, most):
    plan, shown = planned(world, ready, "/studies/new/", kind=kind)
    assert plan.sample_count >= 3 and (plan.sample_count > most) == (kind == "papers")
    assert plan.minutes is None and "unknown: nothing was measured with this pair yet" in shown
    compared = make.comparison(world.actor(world.bob), pair=ready[0], dataset=ready[1])
    make.decode_all(compared)
    plan, shown = planned(world, ready, "/studies/new/", kind=kind)
    assert plan.minutes > 0 and "by the speed of its comparisons" in shown
    made = make.study(world.actor(world.bob), KINDS[kind], pair=ready[0], dataset=ready[1])
    tokens = made.job.total_count * made.sampling["max_new_tokens"]
    plan, _ = planned(world, ready, "/studies/new/", kind=kind, **{"sampling.max_new_tokens": "256"})
    took = (made.job.finished - made.job.started).total_seconds() / 60
    assert plan.minutes == pytest.approx(took * plan.sample_count * 256 / tokens) and not plan.is_rough


def test_a_worker_that_lost_its_lease_leaves_no_document(world, ready):
    study = Study.objects.get(pk=post(world, ready).json()["id"])
    late = jobs.claim(worker="w1", queues=["cpu"])
    jobs.give_back(job=late, reason="w1 went silent.", counts=False)
    jobs.claim(worker="w2", queues=["cpu"])
    with pytest.raises(Conflict, match="lease"):
        services.finish(job=late, document=make.STUDIES["oracle"])
    study.refresh_from_db()
    assert study.document is None

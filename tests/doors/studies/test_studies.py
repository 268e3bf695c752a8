"""Studies: what may be asked for, the content of each kind's page and document, and the figures of the papers."""

from __future__ import annotations

import json
import re

import pytest

from decoding.drafting.records import Record
from decoding.papers.figures import FIGURES
from decoding.public import STRATEGIES, card_in_the_box
from decoding.replay.oracle import analyse
from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.core.problems import Conflict
from webapp.jobs import log
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import prompt_sets
from webapp.registry.models import Pair
from webapp.studies import reading, services
from webapp.studies.kinds import KINDS, PAPERS, PLAN, PROJECTION
from webapp.studies.models import Study

OURS = {**card_in_the_box("two-cores-epyc").to_dict(), "name": "Ours"}
BY_ORDER = "suffix:memory=true copies from earlier requests, so what it gains depends on their order."


def post(world, ready, **changes):
    body = {"kind": "oracle", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), **changes}
    return world.script("submit").post("/api/v1/studies/", body)


def page_of(world, study) -> str:
    return world.page(world.bob).get(f"/studies/{study.pk}/").content.decode()


def test_it_is_enqueued_frozen_and_written_down(world, by, ready):
    answer = post(world, ready, sampling={"max_new_tokens": 8})
    shown = answer.json()
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/v1/studies/{shown['id']}/")
    assert (shown["kind"], shown["job"]["state"], shown["job"]["total_count"]) == ("oracle", "queued", 3)
    assert shown["sampling"]["max_new_tokens"] == 8 and Pair.objects.get().frozen
    assert AuditEntry.objects.filter(verb="launched", subject="study").count() == 1
    chosen = make.classifier(by, ready[0], "chosen")
    make.classifier(by, ready[0], "newer")
    assert post(world, ready, kind="plan", loads=[4, 1], classifier=str(chosen.pk)).json()["loads"] == [1, 4]
    chosen.refresh_from_db()
    assert chosen.frozen and Study.objects.latest("created").asked_classifier == str(chosen.pk)
    for asked, travels in (({"card": "qwen3-32b-0.6b-h100"}, None), ({"own_card": json.dumps(OURS)}, OURS)):
        assert post(world, ready, kind="projection", **asked).status_code == 202
        card = travels or card_in_the_box(asked["card"]).to_dict()
        assert Study.objects.latest("created").job.arguments["card"] == card


def test_what_cannot_be_studied_is_named_by_field_and_leaves_nothing(world, by, ready):
    negative = {**OURS, "batches": [{"batch": 1, "target_ms": {"1": -3}, "draft_ms": {"1": 1}}]}
    elsewhere = str(make.classifier(by, make.pair(by, "another"), "elsewhere").pk)
    here = str(make.classifier(by, ready[0], "here").pk)
    before = Job.objects.count()
    for changes, field, told in (
        ({"kind": "comparison"}, "kind", "comparison"),
        ({"loads": [1, 4]}, "loads", "A study of the kind oracle is not made for several users at once."),
        ({"kind": "plan", "loads": [4, 4]}, "loads", "named twice"),
        ({"kind": "plan", "classifier": elsewhere}, "classifier", "elsewhere is a classifier of another pair"),
        ({"classifier": here}, "classifier", "kind oracle uses no classifier"),
        ({"kind": "projection", "card": "my-laptop"}, "card", "my-laptop"),
        ({"kind": "projection", "own_card": "{"}, "own_card", "not valid JSON"),
        ({"kind": "projection", "own_card": json.dumps(negative)}, "own_card", "batches[0].target_ms.1"),
    ):
        answer = post(world, ready, **changes)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert told in answer.json()["detail"]
    assert not Study.objects.exists() and Job.objects.count() == before


def test_the_document_is_a_file_once_it_is_there_and_a_sentence_before(world, by, ready):
    waiting = post(world, ready).json()["id"]
    early = world.api(world.victor).get(f"/api/v1/studies/{waiting}/document/")
    assert (early.status_code, early.json()["code"], early.json()["state"]) == (409, "not-found-yet", "queued")
    said = [{"from": "human", "value": "1?"}, {"from": "gpt", "value": "!"}, {"from": "human", "value": "And?"}]
    text = f"{json.dumps({'conversations': said})}\n" * 3
    chats = prompt_sets.add_dataset(name="chats", file_name="chats.jsonl", text=text, by=by)
    study = make.study(by, pair=ready[0], dataset=chats)
    answer = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/document/")
    found = answer.json()
    assert answer["Content-Disposition"] == f'attachment; filename="oracle-{study.pk}.json"'
    assert found["format"] == "drafthouse.oracle/1" and sum(found["histogram"]) == found["oracle"]["target"]
    assert chats.prompt_count == 6 and found["prompts"] == {"set": "chats", "split": "", "count": 3}, "conversations"


def test_a_worker_that_lost_its_lease_leaves_no_document(world, ready):
    study = Study.objects.get(pk=post(world, ready).json()["id"])
    late = jobs.claim(worker="w1", queues=["cpu"])
    jobs.give_back(job=late, reason="w1 went silent.", counts=False)
    jobs.claim(worker="w2", queues=["cpu"])
    with pytest.raises(Conflict, match="lease"):
        services.finish(job=late, document=make.STUDIES["oracle"])
    study.refresh_from_db()
    assert study.document is None


@pytest.mark.parametrize("kind", [PLAN, PROJECTION, PAPERS])
def test_document_and_page_name_the_classifier_that_decided_and_warn_if_it_does_not_fit(world, by, ready, kind):
    used = make.classifier(by, ready[0], "used one")
    found = {**make.STUDIES[kind.slug], "classifier": str(used.pk), "misfit": "It is trained for another sampling."}
    card = {"card": "two-cores-epyc"} if kind.needs_card else {}
    study = make.study(by, kind, found, pair=ready[0], dataset=ready[1], **card)
    document = world.script("read").get(f"/api/v1/studies/{study.pk}/document/").json()
    assert document["classifier"] == {"id": str(used.pk), "name": "used one"}
    page = page_of(world, study)
    assert f'<a href="/classifiers/{used.pk}/">used one</a>' in page
    assert ("It is trained for another sampling." in page) is (kind is not PAPERS)


# Oracles -------------------------------------------------------------------------------------------------------------


def test_an_oracle_says_its_verdict_what_to_begin_with_and_draws_other_sets_beside(world, by, ready):
    make.study(by, pair=ready[0], dataset=make.dataset(by, name="prose"))
    for mean, said in ((1.2, "static:1"), (0.3, ""), (99.0, "static:64")):
        study = make.study(by, document={**make.STUDIES["oracle"], "mean": mean}, pair=ready[0], dataset=ready[1])
        answer = world.page(world.bob).get(f"/studies/{study.pk}/")
        shown = answer.content.decode()
        assert shown.index(f"The best draft is {mean:.1f} tokens long on average") < shown.index("<table")
        assert (f"Begin with <b>{said}</b>" in shown) is bool(said) is not ("best without a draft" in shown)
        assert (f"--speculative-num-steps {said.partition(':')[2]}" in shown) is bool(said)  # SGLang
        assert [each["name"] for each in answer.context["sets"]] == ["prompts", "prose"]


def test_an_oracle_has_a_row_for_each_source_of_drafts_and_without_a_draft_says_which_copies_to_begin_with(
    world, by, ready
):
    study = make.study(by, pair=ready[0], dataset=ready[1])
    model, copied = (Record.of([letter == "x" for letter in found]) for found in ("xx.x..xxx", "..xxxx..."))
    sources = analyse(["p"], [model], 4, {"lookup": [copied], "suffix:0.3,memory=true": [copied]})["sources"]
    study.document["sources"] = sources
    study.save()
    shown = page_of(world, study)
    table = shown[shown.index('aria-label="Sources of drafts"') :].partition("</table>")[0]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t", row) for row in table.partition("<tbody>")[2].split("<tr>")[1:]]
    assert [row[0] for row in rows] == ["best of each position", "draft model", "lookup", "suffix:0.3,memory=true"]
    for row in rows[1:]:
        assert row[1:] == [str(sources[row[0]][of]) for of in ("target", "draft", "accepted")]
    assert "not counted" in table and BY_ORDER in shown
    asked = {"pair": make.target_alone(by), "dataset": ready[1]}
    passes = {"target": 9, "draft": 0, "accepted": 4}
    document = {**make.STUDIES["oracle"], "sources": {"best of each position": passes, "lookup:10": passes}}
    shown = page_of(world, make.study(by, document=document, **asked))
    assert "Begin with <b>lookup:10</b>" in shown and "prompt_lookup_max" in shown
    assert "No draft was recorded: oracle and static:5 take the best copy at each position." in shown


# Plans and projections -----------------------------------------------------------------------------------------------


def test_a_plan_is_handed_to_the_form_of_a_comparison_whole_and_marks_the_setting_that_it_advises(world, by, ready):
    study = make.study(by, PLAN, pair=ready[0], dataset=ready[1])
    settings = [row for row in study.document["settings"] if row["strategy"] != "disco"]
    study.document["settings"] = settings  # its classifier is nobody's here
    study.document["noise"] = "Other programs used 40% of the 2 cores."
    best = max((row for row in settings if row["measured"]), key=lambda row: row["measured"]["ratio"])
    best["measured"] |= {"low": 1.1}
    study.save()
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert "num_assistant_tokens=" in shown and "--speculative-config" in shown and "not run" in shown
    assert "Noisy: Other programs used 40% of the 2 cores. Plan again on a quiet machine" in shown
    assert "Run as a comparison" not in shown  # viewers may only look
    assert "(95\u202f% interval" in re.search("<h1.*</h1>", shown)[0]
    [marked] = re.findall('<tr class="[^"]* winner">.*?</tr>', shown, re.DOTALL)
    assert "advised" in marked and reading.setting(best)["short"] in marked
    posted: dict[str, list[str]] = {}
    for name, value in reading.comparison_of(study):
        posted.setdefault(name, []).append(str(value))
    labels = world.page(world.bob).post("/comparisons/new/", {**posted, "plan": ""}).context["plan"].labels
    ranked = [reading.setting(row)["short"] for row in settings if row["role"] == "ranked"]
    assert labels == ["autoregressive", *ranked]


def test_a_plan_that_gained_nothing_does_not_boast():
    row = {"strategy": "static", "params": {"lookahead": 2}, "speedup": 1.4, "role": "ranked"}
    for measured, begins, is_advised in (
        ((1.1, 0.9, 1.3, 9), "No strategy is shown to be faster than autoregressive here;", False),
        ((1.3, 1.2, 1.4, 9), "Set static:2: it ran 1.30 times as fast", True),
        ((1.3, None, None, 3), "static:2 ran 1.30 times as fast as autoregressive on 3 prompts, too few to", False),
    ):
        gain = dict(zip(("ratio", "low", "high", "prompts"), measured, strict=True))
        plan = {"settings": [{**row, "measured": gain}]}
        assert reading.verdict_of_plan(plan).startswith(begins)
        assert [row["is_advised"] for row in reading.settings(plan)] == [is_advised]


@pytest.mark.parametrize(("kind", "card"), [(PLAN, ""), (PROJECTION, "two-cores-epyc")])
def test_what_a_strategy_gains_by_the_order_of_requests_is_said_below_the_table(world, by, ready, kind, card):
    """Plans and projections used to advise a memory without a word."""
    found = make.STUDIES[kind.slug]
    more = {**found, "settings": [*found["settings"], {**found["settings"][-1], "strategy": "suffix-memory"}]}
    for document, times in ((found, 0), (more, 1)):
        study = make.study(by, kind, document, pair=ready[0], dataset=ready[1], card=card)
        assert page_of(world, study).count(BY_ORDER) == times


def test_a_draft_beside_the_target_that_gains_nothing_is_not_praised():
    row = {"batch": 1, "strategy": "static", "params": {"lookahead": 2}, "speedup": 1.4, "tokens_per_s": 14.0}
    ahead = {**row, "strategy": "ssd", "params": STRATEGIES["ssd"].read({}), "speedup": 1.2, "tokens_per_s": 12.0}
    told = reading.verdict_of_projection({"settings": [row, ahead], "card": {"name": "Ours"}})
    assert told.startswith("On Ours, static:2 would be 1.40 times as fast as autoregressive: no draft beside")
    told = reading.verdict_of_projection({"settings": [{**ahead, "tokens_per_s": 21.0}, row], "card": {"name": "Ours"}})
    assert told.endswith("and 1.50 times as fast as static:2.")


# The form ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def form(ready):
    return {"kind": "plan", "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "lookahead": "5", "queue": "cpu"}


def test_a_study_is_launched_from_its_form_and_slips_are_told_beside_the_field(world, form):
    client = world.page(world.bob)
    wrong = client.post("/studies/new/", {**form, "sampling.temperature": "1", "sampling.top_p": "0"})
    assert wrong.status_code == 422 and "greater than or equal to 1e-06" in wrong.content.decode()
    made = client.post("/studies/new/", {**form, "sampling.temperature": "0.6", "sampling.max_new_tokens": "16"})
    study = Study.objects.get()
    assert made["Location"] == f"/studies/{study.pk}/"
    assert (study.kind, study.sampling["temperature"], study.sampling["max_new_tokens"]) == ("plan", 0.6, 16)
    shown = page_of(world, study)
    assert "No worker listens" in shown and "Cancel" in shown


def test_the_form_of_a_study_shows_its_plan_and_why_there_is_none(world, by, ready, form):
    client, elsewhere = world.page(world.bob), make.classifier(by, make.pair(by, "another"), "elsewhere")
    for name, value, told in (
        ("limit", "1", "<p>1 prompt, at most"),
        ("queue", "gpu", "No worker listens on <code>gpu</code>"),
        ("split", "none", "has no split &#x27;none&#x27;"),
        ("pair", "", "Choose a pair and prompts"),
        ("classifier", str(elsewhere.pk), "elsewhere is a classifier of another pair"),
    ):
        assert told in client.post("/studies/new/", {**form, "describe": "1", name: value}).content.decode()
    fits = make.classifier(by, ready[0], "greedy", sampling={"temperature": 0.0}, machine="another machine")
    make.classifier(by, ready[0], "newest", sampling={"temperature": 0.9})
    shown = client.get(f"/studies/new/?pair={ready[0].pk}&kind=papers").content.decode()
    alone = str(make.target_alone(by).pk)
    for kind, is_blocked in (("papers", True), ("plan", False)):
        offered = client.get(f"/studies/new/?kind={kind}").context["form"]["pair"]
        assert (alone in offered.blocked) is is_blocked
    assert "newest, " in shown and "the pair&#x27;s newest" in shown and "elsewhere, " not in shown

    def warns(**chosen):
        asked = {**form, "describe": "1", "sampling.temperature": "0", **chosen}
        return "was trained with temperature 0.9" in client.post("/studies/new/", asked).content.decode()

    assert [warns(kind=kind) for kind in ("plan", "projection", "papers", "oracle")] == [True, True, True, False]
    assert not warns(classifier=str(fits.pk)) and not warns(describe="use-sampling")
    assert not Study.objects.exists()


@pytest.mark.parametrize(("kind", "most"), [("oracle", 3), ("papers", 200)])
def test_the_form_of_a_study_says_how_many_samples_and_how_long_before_its_launch(world, by, ready, form, kind, most):
    def planned(**chosen):
        page = world.page(world.bob).post("/studies/new/", {**form, "kind": kind, "describe": "1", **chosen})
        return page.context["plan"], page.content.decode()

    plan, shown = planned()
    assert plan.sample_count >= 3 and (plan.sample_count > most) == (kind == "papers")
    assert plan.minutes is None and "unknown: nothing was measured with this pair yet" in shown
    make.decode_all(make.comparison(by, pair=ready[0], dataset=ready[1]))
    plan, shown = planned()
    assert plan.minutes > 0 and "by the speed of its comparisons" in shown
    made = make.study(by, KINDS[kind], pair=ready[0], dataset=ready[1])
    tokens = made.job.total_count * made.sampling["max_new_tokens"]
    plan, _ = planned(**{"sampling.max_new_tokens": "256"})
    took = (made.job.finished - made.job.started).total_seconds() / 60
    assert plan.minutes == pytest.approx(took * plan.sample_count * 256 / tokens) and not plan.is_rough


def test_rest_page_and_files_give_every_point_of_every_figure(world, by):
    study, client = make.study(by, PAPERS), world.api(world.victor)
    figures = f"/api/v1/studies/{study.pk}/figures"
    found = client.get(f"{figures}/").json()["results"]
    assert [figure["slug"] for figure in found] == list(FIGURES)
    misses = next(figure for figure in found if figure["slug"] == "ssd-3")
    published = misses["series"][0]
    assert (published["origin"], published["grade"], published["points"][0]["y"]) == ("published", "Pd", 0.229)
    assert any(series["origin"] == "computed" and series["points"][0]["low"] is not None for series in misses["series"])
    other = make.study(by)
    assert client.get(f"/api/v1/studies/{other.pk}/figures/").json()["results"] == []
    shown = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert all(f'<section id="{slug}"' in shown for slug in FIGURES)
    assert "Not drawn. It needs prompts of at least two categories" in shown
    for ending, begins, kind in (("csv", b"series,origin", "text/csv"), ("py", b"# /// script", "text/x-python")):
        answer = client.get(f"{figures}/ssd-3.{ending}/")
        assert answer.content.startswith(begins) and answer["Content-Type"].startswith(kind)
        assert answer["Content-Disposition"] == f'attachment; filename="ssd-3.{ending}"'
    for name in ("ssd-3.pdf", "ssd-99.csv", "ssd-3", "disco-5.csv"):  # the last needs prompts of several categories
        answer = client.get(f"{figures}/{name}/")
        assert answer.status_code == 404 and "FIGURE.ENDING" in answer.json()["detail"]


def test_finished_figures_are_shown_while_others_are_drawn_and_dropped_if_they_were_made_of_other_files(world, by):
    study = services.launch(kind=PAPERS, pair=make.pair(by), dataset=make.dataset(by), by=by)
    job = jobs.claim(worker="w1", queues=["cpu"])
    assert services.kept(job=job, made_of="one") == {"made of": "one"}
    figure = next(each for each in make.STUDIES["papers"]["figures"] if each["slug"] == "ssd-3")
    services.keep(job=job, name="figure ssd-3", data=figure)
    services.keep(job=job, name="costs", data={"draft": 1.0})
    [shown] = world.api(world.victor).get(f"/api/v1/studies/{study.pk}/figures/").json()["results"]
    assert shown["slug"] == "ssd-3"
    page = world.page(world.victor).get(f"/studies/{study.pk}/").content.decode()
    assert '<section id="ssd-3"' in page and '<section id="ssd-5"' not in page
    [line] = [line for line in log.read(job=job.pk, after=0, limit=9) if line.numbers]
    assert line.sentence.startswith("Drawn: Figure 3, ") and line.numbers == {"figures": 1}
    assert set(services.kept(job=job, made_of="one")) == {"made of", "figure ssd-3", "costs"}
    assert services.kept(job=job, made_of="two") == {"made of": "two"}
    jobs.fail(job=job, reason="It took too long.")
    with pytest.raises(Conflict, match="job"):
        services.keep(job=job, name="costs", data={})
    study.refresh_from_db()
    assert study.parts == {"made of": "two"}

"""Pages of studies and classifiers in a real browser: a running training, the threshold explored, the pictures and
their tables, on a phone and in the dark."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.kit import make
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PAPERS, PLAN, PROJECTION
from webapp.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ready(transactional_db, by):
    made = by, make.pair(by), make.dataset(by)
    Job.objects.all().delete()
    return made


def tell(hands, job, epoch) -> None:
    numbers = {"phase": "training", "done": epoch, "due": 60}
    numbers |= {"train_loss": 1 / epoch, "held_out_loss": 1.1 / epoch, "held_out_f1": 0.5}
    hands(jobs.note, job=job, sentence="", numbers=numbers)


def rows(page, name):
    return page.locator(f"[data-twin='{name}'] tbody tr")


def test_a_training_is_watched_to_its_end_and_becomes_the_classifiers_page(open_page, ready, hands):
    by, pair, dataset = ready
    training = hands(make.training, by, pair=pair, dataset=dataset)
    page = open_page(f"/trainings/{training.pk}/")
    expect(page.locator("#mode")).to_have_attribute("data-mode", "live")
    expect(page.locator("#losses")).to_be_hidden()
    hands(jobs.renew, job=training.job, done=2, total=8)
    expect(page.locator("#done")).to_have_text("2 of 8 samples")
    for epoch in (1, 2):
        tell(hands, training.job, epoch)
    expect(page.locator("#losses .line.accent")).to_be_visible()
    of_job = open_page(f"/jobs/{training.job.pk}/")
    page.reload()
    tell(hands, training.job, 3)
    for tab in (page, of_job):
        expect(tab.locator("#done")).to_have_text("epoch 3 of 60")
    page.click("[data-twin='losses'] summary")
    expect(rows(page, "losses")).to_have_count(3)
    hands(classifying.finish_training, job=training.job, files=list(make.card().items()))
    expect(of_job.locator(".lead")).to_contain_text("succeeded")
    page.wait_for_url(re.compile("/classifiers/"))
    the_threshold_is_explored_by_keyboard_and_compared_with(page)


def the_threshold_is_explored_by_keyboard_and_compared_with(page) -> None:
    points = make.STUDIES["card"]["sweep"]["threshold"]
    page.check("input[name=rule][value=threshold]")
    page.focus("#threshold-at")
    page.keyboard.press("Home")
    expect(page.locator("#told")).to_contain_text(f"{points[0]['speedup']:.2f}× predicted")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#told")).to_contain_text(f"{points[1]['drafted']:.1f} tokens drafted a round")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG: when to stop").click()
    assert saved.value.suggested_filename == "sweep.png"
    page.click("text=Compare with this threshold")
    expect(page.locator(".plan")).to_contain_text("disco:threshold,threshold=0.1")


def test_every_picture_of_a_study_is_drawn_and_has_its_table(open_page, ready, hands):
    by, pair, dataset = ready
    page = open_page("/studies/")
    for kind, options, looks in (
        (ORACLE, {}, oracle_looks), (PLAN, {}, plan_looks),
        (PROJECTION, {"card": "llama-70b-1b-h100"}, map_looks), (PAPERS, {}, papers_look),
    ):  # fmt: skip
        study = hands(make.study, by, kind, pair=pair, dataset=dataset, **options)
        page.goto(re.sub(r"(?<=\d)/.*", f"/studies/{study.pk}/", page.url))
        looks(page, study.document)


def oracle_looks(page, document) -> None:
    for name in ("oracle-rounds", "oracle-progress", "oracle-lookaheads"):
        page.click(f"[data-twin='{name}'] summary")
    expect(rows(page, "oracle-rounds")).to_have_count(len(document["one"]["lookaheads"]))
    expect(rows(page, "oracle-progress")).to_have_count(20)
    expect(rows(page, "oracle-lookaheads")).to_have_count(len(document["histogram"]))


def plan_looks(page, document) -> None:
    varied = [row for row in document["predictions"] if row["strategy"] != "oracle"]
    page.click("[data-twin='predicted'] summary")
    expect(rows(page, "predicted")).to_have_count(len(varied))
    at_load = [row for row in document["at_load"]["rows"] if row["role"] != "baseline"]
    measured = sum(bool((row["measured"] or {}).get("low")) for row in at_load)
    expect(page.locator("#plan-by-load .interval")).to_have_count(measured)
    page.click("[data-twin='plan-by-load'] summary")
    expect(rows(page, "plan-by-load")).to_have_count(len(at_load))


def map_looks(page, document) -> None:
    fields = document["map"]["fields"]
    expect(page.locator("#best-map .map-field")).to_have_count(len(fields))
    page.click("[data-twin='best-map'] summary")
    expect(rows(page, "best-map")).to_have_count(len(fields))


def papers_look(page, document) -> None:
    drawn = {figure["slug"]: figure for figure in document["figures"] if not figure["needs"]}
    expect(page.locator("svg.chart.figure")).to_have_count(len(drawn))
    for slug, figure in drawn.items():
        points = [p for series in figure["series"] for p in series["points"] if p["y"] > 0 or not figure["y"]["log"]]
        expect(page.locator(f"#figure-{slug} .dot-mark")).to_have_count(len(points))
    page.click("[data-twin='figure-ssd-3'] summary")
    expect(rows(page, "figure-ssd-3")).to_have_count(sum(len(each["points"]) for each in drawn["ssd-3"]["series"]))
    assert page.evaluate("document.body.innerHTML.includes('NaN')") is False


def test_the_form_of_a_study_shows_the_fields_of_its_kind_alone_and_asks_for_several_loads(open_page, ready, hands):
    _, pair, dataset = ready
    page = open_page(f"/studies/new/?kind=oracle&pair={pair.pk}&dataset={dataset.pk}")
    shown = page.locator("details.group:visible > summary")
    expect(shown).to_have_text(["Static lookahead", "Queue", "Sampling"])
    page.select_option("[name=kind]", "plan")
    assert page.locator("[name=lookahead]").is_disabled()  # and so it is not sent
    page.click("summary:text-is('Several loads')")
    page.fill("[name=loads]", "1, 4")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator("#reason")).to_contain_text("No worker listens")
    assert hands(Study.objects.select_related("job").get).loads == [1, 4]

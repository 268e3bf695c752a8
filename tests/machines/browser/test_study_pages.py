"""Pages of studies and classifiers in a real browser: a running training, the threshold explored, the pictures and
their tables, on a phone and in the dark."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import grave_faults_of_both_themes
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier, Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def hands():
    """A thread of its own, because Django must not meet Playwright's loop."""
    pool = ThreadPoolExecutor(1)

    def does(act, *arguments, **named) -> Any:
        return pool.submit(lambda: act(*arguments, **named)).result()

    yield does
    does(connections.close_all)
    pool.shutdown()


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
    tell(hands, training.job, 1)
    tell(hands, training.job, 2)
    expect(page.locator("#done")).to_have_text("epoch 2 of 60")
    expect(page.locator("#losses .line.accent")).to_be_visible()
    page.reload()
    tell(hands, training.job, 3)
    late = open_page(f"/trainings/{training.pk}/")
    for tab in (page, late):
        tab.click("[data-twin='losses'] summary")
        expect(rows(tab, "losses")).to_have_count(3)
    hands(classifying.finish_training, job=training.job, files=list(make.card().items()))
    for tab in (page, late):
        tab.wait_for_url(re.compile("/classifiers/"))
        expect(tab.locator("h1")).to_contain_text("times as fast as autoregressive")
    page.click("[data-twin='losses'] summary")
    expect(rows(page, "losses")).to_have_count(3)


def test_the_threshold_is_explored_by_keyboard_and_compared_with(open_page, ready, hands):
    by, pair, dataset = ready
    training = hands(make.training, by, pair=pair, dataset=dataset)
    hands(classifying.finish_training, job=training.job, files=list(make.card().items()))
    classifier = hands(Classifier.objects.get)
    page = open_page(f"/classifiers/{classifier.pk}/")
    points = make.STUDIES["card"]["sweep"]["threshold"]
    page.check("input[name=rule][value=threshold]")
    page.focus("#threshold-at")
    page.keyboard.press("Home")
    expect(page.locator("#threshold-now")).to_have_text("0.05")
    expect(page.locator("#told")).to_contain_text(f"{points[0]['speedup']:.2f}× predicted")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#told")).to_contain_text(f"{points[1]['drafted']:.1f} tokens drafted a round")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as PNG: when to stop").click()
    assert saved.value.suggested_filename == "sweep.png"
    page.click("text=Compare with this threshold")
    expect(page.locator(".plan")).to_contain_text("disco:threshold,threshold=0.1")


def test_every_picture_has_its_table(open_page, ready, hands):
    by, pair, dataset = ready
    oracle = hands(make.study, by, pair=pair, dataset=dataset)
    plan = hands(make.study, by, PLAN, pair=pair, dataset=dataset)
    page = open_page(f"/studies/{oracle.pk}/")
    for name in ("oracle-rounds", "oracle-progress", "oracle-lookaheads"):
        page.click(f"[data-twin='{name}'] summary")
    expect(rows(page, "oracle-rounds")).to_have_count(len(oracle.document["one"]["lookaheads"]))
    expect(rows(page, "oracle-progress")).to_have_count(20)
    expect(rows(page, "oracle-lookaheads")).to_have_count(len(oracle.document["histogram"]))
    expect(page.locator("#oracle-lookaheads .bar")).to_have_count(10)  # 9 tokens or more share the last one
    page.goto(page.url.replace(str(oracle.pk), str(plan.pk)))
    varied = [row for row in plan.document["predictions"] if row["strategy"] != "oracle"]
    page.click("[data-twin='predicted'] summary")
    expect(rows(page, "predicted")).to_have_count(len(varied))
    pictures = page.locator("#predicted svg")
    drawn = pictures.evaluate_all("all => all.map((each) => each.getAttribute('aria-label').split(' ').at(-1))")
    assert sorted(drawn) == ["initial", "lookahead", "threshold"]


def test_the_form_of_a_study_shows_the_fields_of_its_kind_alone(open_page, ready):
    page = open_page("/studies/new/?kind=oracle")
    shown = page.locator("details.group:visible > summary")
    expect(shown).to_have_text(["Static lookahead", "Queue", "Sampling"])
    page.select_option("[name=kind]", "projection")
    expect(shown).to_have_text(["Machine", "Classifier", "Queue", "Sampling"])
    assert page.locator("[name=lookahead]").is_disabled()  # and so it is not sent


def test_a_plan_for_several_users_is_asked_for_in_the_form_and_draws_speed_up_by_load(open_page, ready, hands):
    by, pair, dataset = ready
    page = open_page(f"/studies/new/?kind=plan&pair={pair.pk}&dataset={dataset.pk}")
    page.click("summary:text-is('Several loads')")
    page.fill("[name=loads]", "1, 4")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator("#reason")).to_contain_text("No worker listens")
    assert hands(Study.objects.select_related("job").get).loads == [1, 4]
    plan = hands(make.study, by, PLAN, pair=pair, dataset=dataset)
    page.goto(re.sub(r"/studies/.*", f"/studies/{plan.pk}/", page.url))
    drawn = [row for row in plan.document["at_load"]["rows"] if row["role"] != "baseline"]
    expect(page.locator("#plan-by-load .interval")).to_have_count(
        sum(bool((row["measured"] or {}).get("low")) for row in drawn)
    )
    expect(page.locator("section:has(> #plan-by-load) .sentence")).to_contain_text("16 users: ")
    page.click("[data-twin='plan-by-load'] summary")
    expect(rows(page, "plan-by-load")).to_have_count(len(drawn))
    expect(page.locator("tr.load")).to_have_text(["1 at a time", "4 at once", "16 at once"])


def test_the_map_of_a_projection_has_a_field_for_each_price_and_acceptance(open_page, ready, hands):
    by, pair, dataset = ready
    projection = hands(make.study, by, PROJECTION, pair=pair, dataset=dataset, card="llama-70b-1b-h100")
    page = open_page(f"/studies/{projection.pk}/")
    fields = projection.document["map"]["fields"]
    expect(page.locator("#best-map .map-field")).to_have_count(len(fields))
    expect(page.locator("#best-map .pair-ring")).to_have_count(1)
    page.click("[data-twin='best-map'] summary")
    expect(rows(page, "best-map")).to_have_count(len(fields))
    best = fields[0]["best"]
    expect(rows(page, "best-map").first).to_contain_text(best)


TOO_WIDE = """() => document.documentElement.scrollWidth <= 360 ? [] :
  [...document.querySelectorAll('body *')].filter(each => each.getBoundingClientRect().right > 360.5)
    .map(each => `${each.tagName}.${each.getAttribute('class')} to ${each.getBoundingClientRect().right}`)"""


def too_wide(page) -> list[str]:
    """Return what makes the page wider than a phone once its charts are drawn."""
    for _ in range(200):
        if not (found := page.evaluate(TOO_WIDE)):
            break
        page.wait_for_timeout(50)
    return found


def faults(page) -> list[object]:
    """Return what does not fit a phone, with larger letters too, and what axe finds."""
    found: list[object] = [*too_wide(page)]
    page.evaluate("document.documentElement.style.fontSize = '18px'")  # fonts are wider on some machines
    found += too_wide(page)
    page.evaluate("document.documentElement.style.fontSize = ''")
    return found + grave_faults_of_both_themes(page)


def test_the_pages_fit_a_phone_and_are_accessible(open_page, ready, hands):
    by, pair, dataset = ready
    training = hands(make.training, by, pair=pair, dataset=dataset)
    hands(classifying.finish_training, job=training.job, files=list(make.card().items()))
    running = hands(make.training, by, pair=pair, dataset=dataset)
    oracle = hands(make.study, by, pair=pair, dataset=dataset)
    plan = hands(make.study, by, PLAN, pair=pair, dataset=dataset)
    papers = hands(make.study, by, PAPERS, pair=pair, dataset=dataset)
    classifier = hands(Classifier.objects.get)
    projection = hands(make.study, by, PROJECTION, pair=pair, dataset=dataset, card="llama-70b-1b-h100")
    addresses = (f"/studies/{oracle.pk}/", f"/studies/{plan.pk}/", f"/studies/{projection.pk}/",
                 f"/studies/{papers.pk}/",
                 f"/classifiers/{classifier.pk}/", f"/trainings/{running.pk}/", "/studies/", "/studies/new/",
                 "/classifiers/train/")  # fmt: skip
    page = open_page("/studies/", viewport={"width": 360, "height": 720})
    for address in addresses:
        page.goto(re.sub(r"(?<=\d)/.*", address, page.url))
        expect(page.locator("h1")).to_be_visible()
        assert faults(page) == [], address


def test_each_figure_of_the_papers_is_drawn_with_its_points_and_its_table(open_page, ready, hands):
    by, pair, dataset = ready
    study = hands(make.study, by, PAPERS, pair=pair, dataset=dataset)
    page = open_page(f"/studies/{study.pk}/")
    drawn = [figure for figure in study.document["figures"] if not figure["needs"]]
    expect(page.locator("svg.chart.figure")).to_have_count(len(drawn))
    for figure in drawn:
        points = [p for series in figure["series"] for p in series["points"] if p["y"] > 0 or not figure["y"]["log"]]
        expect(page.locator(f"#figure-{figure['slug']} .dot-mark")).to_have_count(len(points))
    page.click("[data-twin='figure-ssd-3'] summary")
    expect(rows(page, "figure-ssd-3")).to_have_count(sum(len(s["points"]) for s in _named(drawn, "ssd-3")["series"]))
    shape = page.locator("#figure-ssd-3 .published .line").first.get_attribute("d")
    assert "NaN" not in shape and page.evaluate("document.body.innerHTML.includes('NaN')") is False


def test_figures_that_are_drawn_meanwhile_are_told_of_and_shown(open_page, ready, hands):
    by, pair, dataset = ready
    study = hands(services.launch, kind=PAPERS, pair=pair, dataset=dataset, by=by)
    job = hands(jobs.claim, worker="w1", queues=["cpu"])
    page = open_page(f"/studies/{study.pk}/")
    expect(page.locator("#mode")).to_have_attribute("data-mode", "live")
    expect(page.locator("#more")).to_be_hidden()
    figures = [each for each in make.STUDIES["papers"]["figures"] if not each["needs"]]
    for count, told in enumerate(("1 figure is drawn.", "2 figures are drawn.", "1 more figure is drawn.")):
        hands(services.keep, job=job, name=f"figure {figures[count]['slug']}", data=figures[count])
        expect(page.locator("#more span")).to_have_text(told)
        if count:
            page.click("text=Show them")
            expect(page.locator("svg.chart.figure")).to_have_count(count + 1)
            expect(page.locator("#more")).to_be_hidden()
    hands(jobs.note, job=job, sentence="", numbers={"phase": "running SSD, 2 at once", "done": 0, "due": 9})
    expect(page.locator("#phase")).to_have_text("Running SSD, 2 at once")


def _named(figures: list[dict[str, Any]], slug: str) -> dict[str, Any]:
    return next(figure for figure in figures if figure["slug"] == slug)

"""Every page there is, found by its address: nothing serious for axe, on a phone and on paper nothing too wide. Every
second page is dark. Set DRAFTHOUSE_SHOTS to a folder and it leaves a picture of each there, for people to look at."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import grave_faults, keep
from tests.kit.everything import pages
from webapp.comparisons.models import Comparison
from webapp.entries import services as entries
from webapp.sharing import services as sharing
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 360, "height": 740}
LETTERS = "size => { document.documentElement.style.fontSize = size; }"
WIDER = "18px"  # fonts are wider on some machines
PAPER = 690  # pixels between the margins of A4
SETTLED_WIDTH = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
    done(document.documentElement.scrollWidth))))"""
REFUSED = {"not-found": "/nowhere/", "gone": "/shared/no-such-link/"}


@pytest.fixture
def addresses(hands, world):
    return hands(lambda: {**pages(world), **others(world), **REFUSED, "sign-in": "/sign-in/"})


def others(world) -> dict[str, str]:
    """Return pages of things in other states: one that is decoded, one that waits, bins, and the link of a guest."""
    by = world.actor(world.alice)
    first = Comparison.objects.earliest("created")
    live, waiting = (make.comparison(by, pair=first.pair, dataset=first.dataset) for _ in range(2))
    make.begin_a_heat(live)
    entries.bin(entry=make.model(by, name="binned"), by=by)
    entries.bin(entry=make.comparison(by, pair=first.pair, dataset=first.dataset), by=by)
    of = {"pair": first.pair, "dataset": first.dataset}
    studies = {kind: make.study(by, kind, **of) for kind in (PLAN, PAPERS)}
    studies[PROJECTION] = make.study(by, PROJECTION, card="llama-70b-1b-h100", **of)
    classifying.finish_training(job=make.training(by, **of).job, files=list(make.card().items()))
    secrets = [sharing.share(comparison=live, days=1, hides_texts=hides, by=by)[1] for hides in (False, True)]
    return {
        "live": reverse("comparison", args=[live.pk]),
        "waiting": reverse("comparison", args=[waiting.pk]),
        "trained": reverse("classifier", args=[Classifier.objects.latest("created").pk]),
        **{f"study-{kind.slug}": reverse("study", args=[study.pk]) for kind, study in studies.items()},
        "binned-models": f"{reverse('models')}?bin=1",
        "binned-comparisons": f"{reverse('comparisons')}?bin=1",
        **{f"shared-{number}": reverse("shared", args=[secret]) for number, secret in enumerate(secrets)},
    }


def test_the_navigation_is_one_line_its_menu_is_closed_by_escape_and_anything_is_found_by_its_name(open_page, by):
    make.pair(by, name="Owl and mouse")
    page = open_page("/jobs/")
    page.evaluate("document.querySelector('.where').textContent = 'A team with a long name, and more of it'")
    for width in (1100, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => window.innerWidth === width", arg=width)
        tops = page.locator(".top nav a").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert len(set(tops)) == 1, width
    page.focus(".menu")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#menu a:focus")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#menu a").first).to_be_hidden()
    expect(page.locator(".menu")).to_be_focused()

    page.keyboard.press("Control+k")
    for number in (0, 1):
        expect(page.locator(f"#found-{number}")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
    page.keyboard.type("owl")
    expect(page.locator("#find-list [aria-selected=true]")).to_contain_text("Owl and mouse")
    assert grave_faults(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Owl and mouse")


def refused_quietly(page, path: str) -> None:
    """A refusal is a page too, but the browser's console complains of its status."""

    def answered(route):
        answer = route.fetch()
        assert answer.status >= 400
        route.fulfill(response=answer, status=200)

    page.route(re.compile(re.escape(path) + "$"), answered)


def look_at(page, name: str, scheme: str) -> list[object]:
    page.emulate_media(media="screen", color_scheme=scheme, reduced_motion="reduce")  # or colours are on their way
    page.set_viewport_size(PHONE)
    page.evaluate(LETTERS, WIDER)
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=PHONE["width"])
    keep(page, f"{name}-{scheme}")
    found = [(name, *fault) for fault in grave_faults(page)]
    page.evaluate(LETTERS, "")
    page.set_viewport_size({"width": PAPER, "height": 980})
    page.emulate_media(media="print")
    keep(page, f"{name}-print")
    return found if (width := page.evaluate(SETTLED_WIDTH)) <= PAPER else [*found, (name, "print", width)]


def test_every_page_is_accessible_and_fits_a_phone_and_paper(open_page, addresses):
    assert len(addresses) > 30
    page = open_page("/comparisons/")
    base, found = page.url.removesuffix("/comparisons/"), []
    for number, (name, path) in enumerate(addresses.items()):
        if name in REFUSED:
            refused_quietly(page, path)
        if name == "sign-in":
            page.context.clear_cookies()
        page.goto(base + path)
        found += look_at(page, name, ("light", "dark")[number % 2])
    assert found == []

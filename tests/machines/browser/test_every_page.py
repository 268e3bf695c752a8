"""Every page there is, found by its address, in both themes and on paper: nothing serious for axe, nothing too wide.
Set DRAFTHOUSE_SHOTS to a folder and it leaves a picture of each there, for people to look at."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.urls import reverse
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import grave_faults_of_both_themes, keep
from tests.kit.everything import pages
from webapp.comparisons.models import Comparison
from webapp.entries import services as entries
from webapp.sharing import services as sharing
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
WIDTHS = {360: "18px", 2560: "", 1280: ""}  # fonts are wider on some machines
PAPER = 690  # pixels between the margins of A4
SETTLED_WIDTH = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
    done(document.documentElement.scrollWidth))))"""
REFUSED = {"not-found": "/nowhere/", "gone": "/shared/no-such-link/"}


@pytest.fixture
def addresses(transactional_db, world):
    with ThreadPoolExecutor(1) as pool:  # a thread of its own, because Django must not meet Playwright's loop
        yield pool.submit(pages, world).result()
        pool.submit(connections.close_all).result()


@pytest.fixture
def others(addresses, world):
    """Return pages of things in other states: one that is decoded, one that waits, bins, and the link of a guest."""

    def make_them() -> dict[str, str]:
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
            "waiting-job": reverse("job", args=[waiting.job.pk]),
            "trained": reverse("classifier", args=[Classifier.objects.latest("created").pk]),
            **{f"study-{kind.slug}": reverse("study", args=[study.pk]) for kind, study in studies.items()},
            "binned-models": f"{reverse('models')}?bin=1",
            "binned-comparisons": f"{reverse('comparisons')}?bin=1",
            **{f"shared-{number}": reverse("shared", args=[secret]) for number, secret in enumerate(secrets)},
        }

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(make_them).result()
        pool.submit(connections.close_all).result()


def test_the_navigation_is_one_line_and_its_menu_is_closed_by_escape(open_page):
    page = open_page("/comparisons/")
    page.evaluate("document.querySelector('.where').textContent = 'A team with a long name, and more of it'")
    for width in (1100, 1200, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => window.innerWidth === width", arg=width)
        tops = page.locator(".top nav a").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert len(set(tops)) == 1, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.focus(".menu")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#menu a:focus")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#menu a").first).to_be_hidden()
    expect(page.locator(".menu")).to_be_focused()


EDGES = """all => all.filter((one) => one.checkVisibility()).map((one) => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).map((v) => v / 255)
            .map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b + .05;
    };
    const edge = light(getComputedStyle(one).borderTopColor);
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return Math.max(edge, paper) / Math.min(edge, paper);
})"""


def test_the_edge_of_a_field_stands_out_from_the_page(open_page):
    page = open_page("/comparisons/new/")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        contrasts = page.locator("main :is(input:not([type=checkbox]), select)").evaluate_all(EDGES)
        assert len(contrasts) > 3 and min(contrasts) >= 3, scheme  # WCAG 1.4.11


def refused_quietly(page, path: str) -> None:
    """A refusal is a page too, but the browser's console complains of its status."""

    def answered(route):
        answer = route.fetch()
        assert answer.status >= 400
        route.fulfill(response=answer, status=200)

    page.route(re.compile(re.escape(path) + "$"), answered)


def look_at(page, name: str) -> list[object]:
    for width, letters in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("letters => { document.documentElement.style.fontSize = letters; }", letters)
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        keep(page, f"{name}-{width}")
    return [(name, *fault) for fault in grave_faults_of_both_themes(page)] + on_paper(page, name)


def on_paper(page, name: str) -> list[object]:
    page.set_viewport_size({"width": PAPER, "height": 980})
    page.emulate_media(media="print")
    keep(page, f"{name}-print")
    too_wide = [] if (width := page.evaluate(SETTLED_WIDTH)) <= PAPER else [(name, "print", width)]
    page.emulate_media(media="screen")
    return too_wide


def test_every_page_is_accessible_in_both_themes_and_fits_every_width(open_page, addresses, others):
    assert len(addresses) > 30
    page = open_page("/comparisons/")
    base, found = page.url.removesuffix("/comparisons/"), []
    for name, path in {**addresses, **others, **REFUSED}.items():
        if name in REFUSED:
            refused_quietly(page, path)
        page.goto(base + path)
        found += look_at(page, name)
    page.context.clear_cookies()
    page.goto(base + "/sign-in/")
    found += look_at(page, "sign-in")
    assert found == []


def test_a_pair_is_two_keys_and_its_name_away_and_arrows_choose(open_page, world):
    make.pair(world.actor(world.bob), name="Owl and mouse")
    page = open_page("/jobs/")
    page.click("[data-find]")
    for number in (0, 1):
        expect(page.locator(f"#found-{number}")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowDown")
    page.keyboard.type("lookup")
    expect(page.locator("#find-list")).to_contain_text("Prompt lookup: lookup")
    page.keyboard.press("Escape")
    expect(page.locator("#find")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("owl")
    expect(page.locator("#find-list [aria-selected=true]")).to_contain_text("Owl and mouse")
    assert grave_faults_of_both_themes(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Owl and mouse")


SCREENS = (360, 1280, 2560, 3840)


def test_the_finished_page_fits_every_width(open_page, ended):
    page = open_page(f"/comparisons/{ended.comparison.pk}/")
    page.locator("#what-if").scroll_into_view_if_needed()
    expect(page.locator("#what-said")).to_contain_text("Simulated")
    for width in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        for chart in ("#rounds", "#duet", "#curve", "#forest"):  # drawn anew for the width they now have
            box = page.locator(chart).bounding_box()
            expect(page.locator(chart)).to_have_attribute(
                "viewBox", f"0 0 {round(box['width'])} {round(box['height'])}"
            )
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        keep_in_both_themes(page, f"comparison-finished-{width}")


def keep_in_both_themes(page, name: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        keep(page, f"{name}-{scheme}")

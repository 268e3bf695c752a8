"""Forms in a real browser: filled in by keyboard alone, and true about themselves meanwhile."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from decoding.strategies import STRATEGIES
from tests.kit import make
from tests.kit.browser import CLIPBOARD, COMPARISON, copied
from webapp.comparisons.models import Comparison

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Typist:
    """Has no mouse. Each press goes to whatever has the focus, and the focus is moved by Tab."""

    def __init__(self, page) -> None:
        self.page = page

    def sees(self, title: str) -> None:
        expect(self.page.locator("h1")).to_have_text(title)
        self.page.wait_for_load_state()  # before that, keys may go to nobody

    def goes_to(self, key: str, title: str) -> None:
        self.page.keyboard.press("g")
        self.page.keyboard.press(key)
        self.sees(title)

    def asks_for_a_new(self, title: str) -> None:
        self.page.keyboard.press("n")
        self.sees(title)

    def reaches(self, wanted: str, by: str = "Tab") -> None:
        for _ in range(300):
            if self.page.locator(wanted).first.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press(by)
        raise AssertionError(f"{by} never reaches {wanted}")

    def presses(self, key: str, on: str, by: str = "Tab") -> None:
        self.reaches(on, by)
        self.page.keyboard.press(key)

    def writes(self, over: bool = False, **fields: str) -> None:
        for name, text in fields.items():
            self.reaches(f"[name='{name.replace('__', '.')}']")
            if over:
                self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)


@pytest.fixture
def typist(open_page, by):
    for name, layers in (("big", 2), ("small", 1)):
        make.model(by, name, layers=layers)
    return Typist(open_page("/comparisons/", **CLIPBOARD))


def make_a_pair(typist) -> None:
    typist.goes_to("p", "Pairs")
    typist.asks_for_a_new("New pair")
    typist.writes(name="both")
    typist.presses("b", "select[name=target]")
    typist.presses("s", "select[name=draft]")
    typist.presses("Enter", "button:text('Make the pair')")
    typist.sees("both")
    expect(typist.page.locator(".findings")).to_contain_text("fits")


def paste_prompts(typist) -> None:
    typist.goes_to("d", "Prompts")
    typist.asks_for_a_new("New prompt set")
    typist.writes(name="three", text="one\ntwo\nthree\n")
    expect(typist.page.locator("main h2")).to_have_text("3 prompts would be added")
    typist.presses("Enter", "button[name=add]")
    typist.sees("three")


def launch(typist) -> None:
    typist.goes_to("c", "Comparisons")
    typist.asks_for_a_new("New comparison")
    expect(typist.page.locator("[name=pair] option:checked")).to_have_text("both: big / small")
    expect(typist.page.locator("[name=dataset] option:checked")).to_have_text("three")
    typist.presses("Enter", "summary:text('Sampling')")
    typist.writes(over=True, max_new_tokens="24")
    typist.presses("Enter", "summary:text('Name, repeats and queue')")
    typist.writes(name="by hand")
    typist.writes(over=True, static__lookahead="3")
    typist.presses("Space", "[name=use][value=heuristic]")
    typist.presses("Space", "[name=use][value=threshold]")
    expect(typist.page.locator(".plan")).to_contain_text("3 runs × 3 prompts")
    typist.presses("Enter", "button[name=launch]", by="Shift+Tab")
    typist.sees("by hand")
    expect(typist.page.locator(".lane .name")).to_have_text(["autoregressive", "static:3", "threshold:0.4"])


def share_and_revoke(typist) -> None:
    page = typist.page
    typist.presses("Enter", "a.button:text('Share')")
    typist.sees("Share by hand")
    typist.writes(over=True, days="3")
    typist.presses("Space", "[name=hides_texts]")
    typist.presses("Enter", "button:text('Make a link')")
    typist.presses("Enter", "[data-copy]")
    expect(page.locator("[data-copy]")).to_have_text("Copied")
    link = copied(page)
    assert page.request.get(link).ok
    typist.presses("Enter", "button:text('Revoke')")
    expect(page.locator("main")).to_contain_text("Nobody outside the team can see it.")
    assert page.request.get(link).status == 410


def test_all_that_a_comparison_takes_is_made_launched_shared_and_revoked_by_keyboard(typist):
    make_a_pair(typist)
    paste_prompts(typist)
    launch(typist)
    share_and_revoke(typist)


@pytest.fixture
def ready(by):
    return make.pair(by), make.dataset(by, count=6)


def asked(comparison: Comparison) -> object:
    runs = [(run.label, run.params) for run in comparison.runs.all()]
    return comparison.name, comparison.split, comparison.limit, comparison.sampling, comparison.slo, runs


def test_a_copied_comparison_is_the_one_that_the_form_launches_whatever_was_edited(open_page, ready, run):
    page = open_page("/comparisons/new/", **CLIPBOARD)
    page.evaluate("for (const fold of document.querySelectorAll('form[data-api] details')) fold.open = true")
    page.uncheck("[name=use][value=heuristic]")
    page.check("[name=use][value=suffix]")
    for name in ("ignore_eos", "suffix.memory"):
        page.check(f"[name='{name}'][type=checkbox]")
    for name, choice in (("split", "test"), ("dice", "ratio")):
        page.select_option(f"[name={name}]", choice)
    written = {
        "name": "it's edited",
        "limit": "2",
        "temperature": "0.5",
        "concurrency": "1, 2",
        "static.lookahead": "3, 5",
    }
    for name, text in {**written, "slo": "tpot=50ms"}.items():
        page.fill(f"[name='{name}']", text)
    page.click("form[data-api] [aria-label='Copy as CLI']")
    expect(page.locator("form[data-api] [aria-label='Copy as CLI']")).to_have_text("Copied")
    sent = run(copied(page))
    assert sent.returncode == 0, sent.stderr
    page.click("button[name=launch]")
    page.wait_for_url(COMPARISON)
    scripted, launched = (
        asked(Comparison.objects.get(pk=pk)) for pk in (json.loads(sent.stdout)["id"], page.url.split("/")[4])
    )
    assert scripted == launched
    assert "memory=true" in str(launched) and launched[2] == 2
    page.wait_for_load_state("networkidle")


def test_the_form_of_a_comparison_follows_what_is_chosen_and_keeps_what_was_unfolded(open_page, ready, by):
    make.dataset(by, name="others")
    make.endpoint(by)
    make.target_alone(by)
    page = open_page("/comparisons/new/")
    plan, splits = page.locator(".plan"), page.locator("[name=split] option")
    what_the_pair_cannot_run_is_taken_away_and_given_back(page)
    page.select_option("[name=dataset]", label="others")
    expect(splits).to_have_text(["all prompts", "test (1)", "train (1)", "validation (1)"])
    page.select_option("[name=dataset]", label="prompts")
    page.fill("[name=limit]", "4")
    expect(plan).to_contain_text("× 4 prompts")
    theirs = page.locator("[name=server][value='theirs']")
    page.click("#servers summary")
    theirs.check()
    expect(plan).to_contain_text("server:theirs")
    page.fill("[name='static.lookahead']", "99")
    expect(plan).to_contain_text("outside 1 to 64")
    page.route("**/comparisons/new/", quietly)
    page.click("button[name=launch]")
    expect(page.locator(".strategies .error")).to_contain_text("outside 1 to 64")
    for fold, is_open in (("servers", True), ("sampling", False)):
        assert page.locator(f"details[data-fold={fold}]").evaluate("fold => fold.open") is is_open
    expect(theirs).to_be_checked()


def what_the_pair_cannot_run_is_taken_away_and_given_back(page) -> None:
    needy = {slug for slug, strategy in STRATEGIES.items() if strategy.needs_draft}
    chosen = page.locator("[name=use]:checked")
    before = chosen.evaluate_all("boxes => boxes.map((box) => box.value)")
    page.select_option("select[name=pair]", label="alone: target (no draft)")
    assert chosen.evaluate_all("boxes => boxes.map((box) => box.value)") == [
        slug for slug in before if slug not in needy
    ]
    static = page.locator("[name=use][value=static]")
    expect(static).to_be_disabled()
    expect(static).to_have_accessible_description("needs a draft model, and this pair has none")
    page.select_option("select[name=pair]", label="pair: target / draft")
    assert chosen.evaluate_all("boxes => boxes.map((box) => box.value)") == before
    expect(static).to_have_accessible_description("")


def quietly(route) -> None:
    """A refused form is a page, but the browser's console complains of its status."""
    if route.request.is_navigation_request():
        route.fulfill(response=route.fetch(), status=200)
    else:
        route.continue_()

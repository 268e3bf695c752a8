"""Forms that keep their plan and their request as code true while somebody fills them in."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.webapp import make
from tests.webapp.browser.lab import CLIPBOARD, COMPARISON, copied, launch_by_keyboard
from webapp.comparisons.models import Comparison
from webapp.registry.models import Pair
from webapp.studies.models import Study, Training

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ready(world):
    by = world.actor(world.bob)
    return make.pair(by), make.dataset(by, count=6)


@pytest.fixture
def script(world):
    client = world.script("submit")

    def send(page):
        """Send the request that the page shows, as it was copied."""
        method, url, body = re.search(r"ask (\w+) '([^']*)' \\\n +'([^']*)'", copied(page)).groups()
        return client.generic(method, re.sub("^https?://[^/]*", "", url), body, content_type="application/json")

    return send


def copy(page) -> None:
    if page.locator("form[data-api] details.code[open]").count() == 0:
        page.click("form[data-api] details.code > summary")
    page.click("form[data-api] [aria-label='Copy as CLI']")
    expect(page.locator("form[data-api] [aria-label='Copy as CLI']")).to_have_text("Copied")


def asked(comparison: Comparison) -> object:
    runs = [(run.label, run.params) for run in comparison.runs.all()]
    return (
        comparison.name, comparison.pair_id, comparison.dataset_id, comparison.split, comparison.limit,
        comparison.repeats, comparison.sampling, comparison.slo, comparison.job.priority, runs,
    )  # fmt: skip


def test_a_copied_comparison_is_the_one_that_the_form_launches_whatever_was_edited(open_page, ready, script):
    page = open_page("/comparisons/new/", **CLIPBOARD)
    copy(page)  # first with the form as it came
    assert script(page).status_code == 202
    page.click("summary:text-is('Name, repeats and queue')")
    page.fill("[name=name]", "it's edited")
    page.select_option("[name=split]", "test")
    page.fill("[name=limit]", "2")
    page.click("summary:text-is('Sampling')")
    page.fill("[name=temperature]", "0.5")
    page.select_option("[name=dice]", "ratio")
    page.check("[name=ignore_eos]")
    page.click("summary:text-is('Load')")
    page.fill("[name=concurrency]", "1, 2")
    page.fill("[name=slo]", "tpot=50ms")
    page.fill("[name='static.lookahead']", "3, 5")
    page.uncheck("[name=use][value=heuristic]")
    page.check("[name=use][value=threshold]")
    page.click("details[data-fold=threshold] > summary")
    page.check("[type=checkbox][name='threshold.adaptive']")
    copy(page)
    sent = script(page)
    assert sent.status_code == 202, sent.json()
    page.click("button[name=launch]")
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_url(COMPARISON)
    scripted, launched = (asked(Comparison.objects.get(pk=pk)) for pk in (sent.json()["id"], page.url.split("/")[4]))
    assert scripted == launched
    assert "adaptive=true" in str(launched) and launched[4] == 2
    page.wait_for_load_state("networkidle")


def test_a_copied_training_follows_what_was_edited(open_page, ready, script):
    page = open_page("/classifiers/train/", **CLIPBOARD)
    page.fill("[name=name]", "mine")
    page.fill("[name=limit]", "3")
    page.click("summary:text-is('Sampling')")
    page.fill("[name=max_new_tokens]", "7")
    copy(page)
    assert script(page).status_code == 202
    assert Training.objects.get().limit == 3 and Training.objects.get().sampling["max_new_tokens"] == 7


def test_a_copied_study_follows_what_was_edited(open_page, ready, script):
    page = open_page("/studies/new/", **CLIPBOARD)
    page.select_option("[name=kind]", "oracle")
    page.select_option("[name=split]", "test")
    page.click("summary:text-is('Sampling')")
    page.fill("[name='sampling.top_k']", "9")
    copy(page)
    assert script(page).status_code == 202
    assert Study.objects.get().sampling["top_k"] == 9 and Study.objects.get().split == "test"


def test_a_copied_pair_and_a_copied_prompt_set_follow_what_was_edited(open_page, ready, script):
    page = open_page("/pairs/new/", **CLIPBOARD)
    page.fill("[name=name]", "again")
    page.select_option("[name=target]", label="target")
    copy(page)
    assert script(page).status_code == 201 and Pair.objects.get(name="again").draft is None
    page.goto(page.url.replace("/pairs/", "/datasets/"))
    page.fill("[name=name]", "pasted")
    page.fill("[name=text]", "it's one\ntwo")
    copy(page)
    assert script(page).json()["prompt_count"] == 2


def test_the_plan_is_there_from_the_start_and_follows_the_form(open_page, ready):
    page = open_page("/comparisons/new/")
    plan = page.locator(".plan")
    expect(plan).to_contain_text("× 6 prompts")
    page.fill("[name=limit]", "4")
    expect(plan).to_contain_text("× 4 prompts")
    page.fill("[name='static.lookahead']", "99")
    expect(plan).to_contain_text("outside 1 to 64")
    page.fill("[name='static.lookahead']", "9")
    expect(plan).to_contain_text("static:9")
    expect(plan).to_contain_text("No worker listens on cpu")


def test_the_splits_are_those_of_the_chosen_prompts(open_page, ready, world):
    make.dataset(world.actor(world.bob), name="others")
    page = open_page("/comparisons/new/", **CLIPBOARD)
    expect(page.locator("[name=split] option")).to_have_text(["all prompts"])
    page.select_option("[name=dataset]", label="others")
    expect(page.locator("[name=split] option")).to_have_text(["all prompts", "test (3)"])
    page.select_option("[name=split]", "test")
    page.select_option("[name=dataset]", value="")
    expect(page.locator("[name=split] option")).to_have_text(["all prompts"])


def test_what_was_unfolded_stays_unfolded_beside_an_error(open_page, ready):
    page = open_page("/comparisons/new/")
    page.click("summary:text-is('Load')")
    page.click("summary:text-is('Name, repeats and queue')")
    page.fill("[name='static.lookahead']", "99")
    expect(page.locator(".plan")).to_contain_text("outside 1 to 64")
    page.route("**/comparisons/new/", quietly)
    page.click("button[name=launch]")
    expect(page.locator(".strategies .error")).to_contain_text("outside 1 to 64")
    expect(page.locator("details[data-fold=load]")).to_have_attribute("open", "")
    expect(page.locator("details[data-fold=running]")).to_have_attribute("open", "")
    expect(page.locator("details[data-fold=sampling]")).not_to_have_attribute("open", "")


def quietly(route) -> None:
    """A refused form is a page, but the browser's console complains of its status."""
    if route.request.is_navigation_request():
        route.fulfill(response=route.fetch(), status=200)
    else:
        route.continue_()


def test_fields_side_by_side_are_equally_high(open_page, ready):
    page = open_page("/comparisons/new/", viewport={"width": 1280, "height": 900})
    boxes = [page.locator(f"[name={name}]").bounding_box() for name in ("pair", "dataset", "split", "limit")]
    assert len({(box["y"], box["height"]) for box in boxes}) == 1


@pytest.mark.parametrize(
    "servers", [(), ("theirs",), ("theirs", "a-server-with-a-name-of-about-as-many-letters-as-may-be")]
)
def test_a_comparison_takes_few_keys_and_little_room(open_page, ready, world, servers):
    for name in servers:
        make.endpoint(world.actor(world.bob), name)
    page = open_page("/comparisons/new/", viewport={"width": 1280, "height": 900})
    expect(page.locator(".plan")).to_contain_text("× 6 prompts")
    assert page.evaluate("document.documentElement.scrollHeight") <= 1200
    assert launch_by_keyboard(page) <= 12
    page.wait_for_load_state("networkidle")


def test_servers_are_chosen_in_their_fold_which_is_open_where_one_is_chosen(open_page, ready, world):
    make.endpoint(world.actor(world.bob))
    page = open_page("/comparisons/new/")
    theirs = page.locator("[name=server][value='theirs as-started']")
    expect(theirs).to_be_hidden()
    page.click("#servers summary")
    theirs.check()
    expect(page.locator(".plan")).to_contain_text("server:theirs")
    page.goto(page.url + "?strategies=static:4,server:theirs")
    expect(theirs).to_be_visible()
    expect(theirs).to_be_checked()


def test_true_or_false_is_a_check_box_and_a_gpu_is_offered_only_where_a_worker_has_one(open_page, ready):
    page = open_page("/comparisons/new/")
    expect(page.locator("[name='threshold.adaptive'][type=checkbox]")).to_have_count(1)
    expect(page.locator("[name=queue] option")).to_have_text(["CPU"])


def test_the_copied_count_of_tokens_is_for_the_chosen_pair(open_page, ready, script, world):
    make.pair(world.actor(world.bob), name="second")
    page = open_page(f"/datasets/{ready[1].pk}/", **CLIPBOARD)
    page.select_option("[name=pair]", label="second")
    copy(page)
    answer = script(page)
    assert answer.status_code == 202 and answer.json()["pair"] == str(Pair.objects.get(name="second").pk)

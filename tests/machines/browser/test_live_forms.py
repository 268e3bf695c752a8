"""Forms that keep their plan and their request as code true while somebody fills them in."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.kit.browser import CLIPBOARD, COMPARISON, copied
from webapp.accounts.models import ApiToken, Invitation, Role
from webapp.comparisons.models import Comparison
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair, TokenLengths
from webapp.sharing.models import Share
from webapp.studies.models import Classifier, Study, Training

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ready(by):
    return make.pair(by), make.dataset(by, count=6)


LANGUAGES = {"curl": "{}", "CLI": "{}", "Python": "python3 - <<'END'\n{}\nEND"}  # and how each is run


def copy(page, language: str = "CLI") -> str:
    """Copy what the form offers, and return how a shell runs it."""
    button = page.locator(f"form[data-api] [aria-label='Copy as {language}']")
    button.click()
    expect(button).to_have_text("Copied")
    return LANGUAGES[language].format(copied(page))


def unfold(page) -> None:
    page.evaluate("for (const fold of document.querySelectorAll('form[data-api] details')) fold.open = true")


def edit(page, edits: dict[str, str | bool]) -> None:
    for name, value in edits.items():
        field = page.locator(f"form[data-api] [name='{name}']:not([type=hidden])")
        if isinstance(value, bool):
            field.set_checked(value)
        elif field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)


def asked(comparison: Comparison) -> object:
    runs = [(run.label, run.params) for run in comparison.runs.all()]
    return (
        comparison.name, comparison.pair_id, comparison.dataset_id, comparison.split, comparison.limit,
        comparison.repeats, comparison.sampling, comparison.slo, comparison.job.priority, runs,
    )  # fmt: skip


def test_a_copied_comparison_is_the_one_that_the_form_launches_whatever_was_edited(open_page, ready, run):
    page = open_page("/comparisons/new/", **CLIPBOARD)
    unfold(page)
    assert run(copy(page)).returncode == 0  # first with the form as it came
    page.uncheck("[name=use][value=heuristic]")
    page.check("[name=use][value=threshold]")
    edit(page, {
        "name": "it's edited", "split": "test", "limit": "2", "temperature": "0.5", "dice": "ratio", "ignore_eos": True,
        "concurrency": "1, 2", "slo": "tpot=50ms", "static.lookahead": "3, 5", "threshold.adaptive": True,
    })  # fmt: skip
    sent = run(copy(page))
    assert sent.returncode == 0, sent.stderr
    page.click("button[name=launch]")
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_url(COMPARISON)
    made = (json.loads(sent.stdout)["id"], page.url.split("/")[4])
    scripted, launched = (asked(Comparison.objects.get(pk=pk)) for pk in made)
    assert scripted == launched
    assert "adaptive=true" in str(launched) and launched[4] == 2
    page.wait_for_load_state("networkidle")


@dataclass(frozen=True)
class Edited:
    """A form with code to copy, edits of it, and what its request makes of them."""

    path: str
    edits: dict[str, str | bool]
    makes: type[Any]
    shows: Callable[[Any], dict[str, Any]]
    also: str = "dataset"  # what it needs besides


FORMS = {
    "comparison": Edited(
        "/comparisons/new/", {"name": "it's", "limit": "2", "static.lookahead": "3"}, Comparison,
        lambda row: {
            "name": row.name, "limit": str(row.limit),
            "static.lookahead": str(row.runs.get(label__startswith="static").params["lookahead"]),
        },
    ),
    "training": Edited(
        "/classifiers/train/", {"name": "it's", "limit": "3", "max_new_tokens": "7"}, Training,
        lambda row: {"name": row.name, "limit": str(row.limit), "max_new_tokens": str(row.sampling["max_new_tokens"])},
    ),
    "study": Edited(
        "/studies/new/", {"kind": "oracle", "split": "test", "sampling.top_k": "9"}, Study,
        lambda row: {"kind": row.kind, "split": row.split, "sampling.top_k": str(row.sampling["top_k"])},
    ),
    "model": Edited(
        "/models/new/", {"name": "it's", "hub_id": "some/one", "revision": "v1"}, LanguageModel,
        lambda row: {"name": row.name, "hub_id": row.location, "revision": row.revision},
    ),
    "prompts": Edited(
        "/datasets/new/", {"name": "it's", "text": "one\nit's two\n"}, Dataset,
        lambda row: {"name": row.name, "text": "".join(f"{each.text}\n" for each in row.prompts.all())},
    ),
    "server": Edited(
        "/endpoints/new/", {"name": "theirs", "url": "http://127.0.0.1:9", "dialect": "llamacpp"}, Endpoint,
        lambda row: {"name": row.name, "url": row.url, "dialect": row.dialect},
    ),
    "classifier": Edited("/classifiers/new/", {"name": "it's"}, Classifier, lambda row: {"name": row.name}, "card"),
    "pair": Edited(
        "/pairs/new/", {"name": "it's", "target": "target", "draft": "draft"}, Pair,
        lambda row: {"name": row.name, "target": row.target.name, "draft": row.draft.name},
    ),
    "invitation": Edited(
        "/team/", {"role": "viewer", "days": "3"}, Invitation,
        lambda row: {"role": row.role, "days": str(round((row.expires - row.created).total_seconds() / 86400))},
    ),
    "token": Edited(
        "/account/tokens/", {"name": "it's", "scope": "read"}, ApiToken,
        lambda row: {"name": row.name, "scope": row.scope},
    ),
    "link": Edited(
        "/comparisons/{comparison}/shares/", {"hides_texts": True}, Share,
        lambda row: {"hides_texts": row.hides_texts}, "comparison",
    ),
    "token lengths": Edited(
        "/datasets/{dataset}/", {"pair": "second: target / draft"}, TokenLengths,
        lambda row: {"pair": f"{row.pair.name}: {row.pair.models}"}, "second",
    ),
}  # fmt: skip


@pytest.fixture
def things(world, by, ready):
    world.bob.memberships.update(role=Role.OWNER)
    return {
        "dataset": lambda: ready[1],
        "comparison": lambda: make.comparison(by, pair=ready[0], dataset=ready[1]),
        "second": lambda: make.pair(by, name="second"),
        "card": lambda: make.upload(by, make.card()),
    }


@pytest.mark.curl
def test_each_copy_runs_and_asks_for_what_the_form_holds_after_an_edit(open_page, things, run):
    page = open_page("/comparisons/", **CLIPBOARD)
    made = {}
    for (form, wanted), language in zip(FORMS.items(), itertools.cycle(LANGUAGES)):
        made[wanted.also] = things[wanted.also]().pk
        page.goto(re.sub(r"(?<=\d)/.*", wanted.path.format(**made), page.url))
        unfold(page)
        edit(page, wanted.edits)
        done = run(copy(page, language), "admin")
        assert wanted.shows(wanted.makes.objects.latest("created")) == wanted.edits, (form, done.stdout, done.stderr)


def test_the_form_of_a_comparison_follows_what_is_chosen_and_keeps_what_was_unfolded(open_page, ready, world):
    make.dataset(world.actor(world.bob), name="others")
    make.endpoint(world.actor(world.bob))
    page = open_page("/comparisons/new/", viewport={"width": 1280, "height": 900})
    plan, splits = page.locator(".plan"), page.locator("[name=split] option")
    expect(page.locator("[name='threshold.adaptive'][type=checkbox]")).to_have_count(1)
    expect(page.locator("[name=queue] option")).to_have_text(["CPU"])
    assert page.evaluate("document.documentElement.scrollHeight") <= 1200
    page.select_option("[name=dataset]", value="")
    expect(splits).to_have_text(["all prompts"])
    page.select_option("[name=dataset]", label="others")
    expect(splits).to_have_text(["all prompts", "test (1)", "train (1)", "validation (1)"])
    page.select_option("[name=dataset]", label="prompts")
    expect(plan).to_contain_text("× 6 prompts")
    page.fill("[name=limit]", "4")
    expect(plan).to_contain_text("× 4 prompts")
    expect(plan).to_contain_text("No worker listens on cpu")

    theirs = page.locator("[name=server][value='theirs as-started']")
    expect(theirs).to_be_hidden()
    page.click("#servers summary")
    theirs.check()
    expect(plan).to_contain_text("server:theirs")
    page.click("summary:text-is('Load')")
    page.fill("[name='static.lookahead']", "99")
    expect(plan).to_contain_text("outside 1 to 64")
    page.route("**/comparisons/new/", quietly)
    page.click("button[name=launch]")
    expect(page.locator(".strategies .error")).to_contain_text("outside 1 to 64")
    for fold, is_open in (("load", True), ("servers", True), ("sampling", False)):
        assert page.locator(f"details[data-fold={fold}]").evaluate("fold => fold.open") is is_open
    expect(theirs).to_be_checked()


def quietly(route) -> None:
    """A refused form is a page, but the browser's console complains of its status."""
    if route.request.is_navigation_request():
        route.fulfill(response=route.fetch(), status=200)
    else:
        route.continue_()

"""The forms for a pair without a draft: what cannot run cannot be chosen, and says why."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from decoding.strategies import STRATEGIES
from tests.kit import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WHY = "needs a draft model, and this pair has none"
NEEDY = [slug for slug, strategy in STRATEGIES.items() if strategy.needs_draft]


@pytest.fixture
def pairs(by):
    make.dataset(by)
    return {"paired": make.pair(by, name="paired"), "alone": make.target_alone(by)}


def box(page, slug):
    return page.locator(f"[name=use][value='{slug}']")


def chosen(page):
    return page.locator("[name=use]:checked").evaluate_all("boxes => boxes.map((box) => box.value)")


def pick(page, label):
    page.select_option("select[name=pair]", label=label)


def test_choosing_a_target_alone_takes_away_what_needs_a_draft_and_gives_it_back(open_page, pairs):
    page = open_page("/comparisons/new/")
    page.click("summary:text-is('Bounds and other engines')")
    before = chosen(page)
    assert set(before) & set(NEEDY)
    pick(page, "alone: target (no draft)")
    assert chosen(page) == [slug for slug in before if slug not in NEEDY]
    for slug in NEEDY:
        expect(box(page, slug)).to_be_disabled()
        expect(box(page, slug)).to_have_accessible_description(WHY)
    expect(page.get_by_text(WHY).locator("visible=true")).to_have_count(len(NEEDY))
    pick(page, "paired: target / draft")
    assert chosen(page) == before
    expect(box(page, "static")).to_be_enabled()
    expect(box(page, "static")).to_have_accessible_description("")
    expect(page.get_by_text(WHY).locator("visible=true")).to_have_count(0)

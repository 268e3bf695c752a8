"""The code at a page's foot is about what is chosen there, and holds what is typed into the form it stands for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.kit import make
from tests.machines.browser.conftest import Worker
from webapp.accounts.models import Role

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_it_follows_the_choice_and_the_form_and_takes_quotes(open_page, worker: Worker, world):
    worker.does(lambda: world.bob.memberships.update(role=Role.OWNER))
    page = open_page("/team/")
    page.click("details.verbs > summary")
    roles = page.locator("[data-verb]", has_text="Set the role")
    roles.locator("select").select_option("victor")
    expect(roles.locator('[data-code="cli"]')).to_contain_text('"viewer"')
    alice = page.locator("tbody tr", has_text="alice")
    alice.locator("select").select_option("member")
    expect(roles.locator("select")).to_have_value("alice")
    for language in ("curl", "cli", "python"):
        expect(roles.locator(f'[data-code="{language}"]')).to_contain_text('{"role":"member"}')
    alices = alice.locator("form").first.get_attribute("action").split("/")[3]
    expect(roles.locator('[data-code="curl"]')).to_contain_text(f"/api/v1/members/{alices}/")

    model = worker.does(make.model, worker.does(world.actor, world.bob), name="one")
    page.goto(page.url.replace("/team/", f"/models/{model.pk}/"))
    page.click("details.verbs > summary")
    expect(page.locator("[data-verb] select").first).to_be_hidden()  # a button of one thing offers no choice
    page.click(".rename summary")
    page.fill(".rename [name=name]", "it's")
    expect(page.locator('[data-verb] [data-code="curl"]').first).to_contain_text('{"name":"it\\u0027s"}')

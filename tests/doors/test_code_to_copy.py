"""Every form that changes something can be copied as curl, command line and Python, and the copy does the same.

A form that creates has its code inside; buttons have theirs at the foot of the page, each kind of them once.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.urls import resolve

from tests.kit import make
from tests.kit.addresses import address, routes
from tests.kit.everything import in_other_states, one_of_everything
from webapp.accounts.models import Membership, Team, User
from webapp.comparisons import demo
from webapp.core.verbs import VERBS

WITHOUT_CODE = {  # by the route that the form is sent to
    "sign-in": "a password is typed by a person, never kept in a script",
    "sign-out": "ends the session of a browser; a script has none",
    "enter": "a one-time link makes a session",
    "join": "a person joins with a link that somebody sent them",
    "account": "a password is changed by who knows it",
    "change-name": "a person's name; tokens stand for a team",
    "new-team": "a person's too: a token acts in the one team it was made in",
    "switch-team": "moves a person's session; a token stays in its team",
}
OPENS_A_FORM = {"study", "classifier"}  # pages with a button that only fills in the form of a new comparison


@dataclass(frozen=True)
class Copied:
    """One choice of the code at a page's foot."""

    verb: str
    action: str
    method: str
    path: str
    body: dict[str, Any] | None


def forms(page: str) -> Iterator[tuple[str, str]]:
    """Return the target URL of each form that changes something, and its content."""
    for opening, inside in re.findall(r"<form\b([^>]*)>(.*?)</form>", page, re.DOTALL):
        if 'method="post"' in opening:
            action = re.search(r' action="([^"]*)"', opening)
            yield html.unescape(action[1]) if action else "", inside


def at_the_foot(page: str) -> Iterator[Copied]:
    for section in re.findall(r"<section data-verb[^>]*>(.*?)</section>", page, re.DOTALL):
        told = re.search(r"<h3>(.*?) <span>", section)
        line = re.search(r"\./drafthouse ask ([A-Z]+) ", section)
        for action, url, body in re.findall(
            r'data-action="([^"]*)" data-url="http://testserver([^"]*)" data-body="([^"]*)"', section
        ):
            yield Copied(told[1], action, line[1], url, json.loads(html.unescape(body)) if body else None)


@pytest.fixture
def pages(world) -> list[tuple[User | None, str, str]]:
    """Return user, route and page for every page, seen by an owner who is the operator too."""
    things = one_of_everything(world)
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    Membership.objects.create(team=Team.objects.create(name="another"), user=world.alice, role="viewer")
    client, answers = world.page(world.alice), []
    usual = sorted({address(pattern, things) for method, pattern in routes() if method == "GET"})
    pages_of_ours = [at for at in usual if not at.startswith("/api/v1/")]
    answers += [(None, world.page(None).get(at)) for at in pages_of_ours]
    answers += [(world.alice, client.get(at)) for at in pages_of_ours]
    answers += [(world.alice, client.get(at)) for at in in_other_states(world, things)]
    owner = world.actor(world.charlie)
    make.pair(owner, name=demo.STARTER)
    make.dataset(owner, name=f"{demo.STARTER} code")
    answers.append((world.charlie, world.page(world.charlie).get("/comparisons/")))
    return [
        (who, str(answer.resolver_match.url_name), answer.content.decode())
        for who, answer in answers
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html")
    ]


def test_every_form_has_code_that_the_api_takes_or_a_reason_why_not(world, pages):
    bare, seen = set(), set()
    for _, route, page in pages:
        foot = {copied.action for copied in at_the_foot(page)}
        for action, inside in forms(page):
            sent_to = str(resolve(action).url_name) if action else route
            seen.add(sent_to)
            opens = sent_to == "new-comparison" and route in OPENS_A_FORM
            if not (action in foot or 'class="code"' in inside or sent_to in WITHOUT_CODE or opens):
                bare.add((route, sent_to))
    assert bare == set()
    assert set(VERBS) <= seen, "a button was seen on no page"
    assert set(WITHOUT_CODE) - {"join"} <= seen  # whose form needs an invitation
    check_copies(world, pages)


def check_copies(world, pages) -> None:
    """Check that what each button is copied as is what the API takes."""
    clients = {world.alice: world.script("admin"), world.charlie: world.api(world.charlie)}
    answered: dict[str, set[int]] = {}
    for who, _, page in pages:
        for copied in at_the_foot(page):
            body = {name: "x" if value == "" else value for name, value in (copied.body or {}).items()}  # "": fill in
            sent = json.dumps(body).encode() if body else b""
            cache.clear()
            with transaction.atomic():
                answer = clients[who].generic(copied.method, copied.path, sent, content_type="application/json")
                transaction.set_rollback(True)
            answered.setdefault(str(resolve(copied.action).url_name), set()).add(answer.status_code)
    assert set(answered) == set(VERBS)
    for route, codes in answered.items():  # 409: what the page would be told too, as of the last owner
        assert codes <= {200, 201, 202, 204, 409} and codes != {409}, (route, codes)

"""A list asks the database the same however long it is: every list there is, as a page and over REST."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.webapp import make
from tests.webapp.everything import one_of_everything
from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, User
from webapp.comparisons import figures
from webapp.comparisons.models import Comparison, SavedView
from webapp.jobs.models import Job
from webapp.registry.models import Classifier, Dataset, LanguageModel, Pair
from webapp.uploads.models import Upload

PAGES = ("comparisons", "runs", "studies", "models", "pairs", "datasets", "classifiers", "jobs", "team", "audit",
         "tokens", "users")  # fmt: skip
LISTS = ("comparisons", "runs", "conditions", "views", "samples", "jobs", "models", "pairs", "datasets", "classifiers",
         "uploads", "members", "invitations", "tokens", "audit", "users", "shares", "studies")  # fmt: skip
COPIED = (LanguageModel, Pair, Dataset, Classifier, Upload, AuditEntry, SavedView)


def more_of_everything(world) -> None:
    for kind in COPIED:
        row = kind.objects.latest("created")
        for number in range(4):
            row.pk, row._state.adding = uuid.uuid4(), True
            row.name = f"{number}"
            row.save(force_insert=True)
    by = world.actor(world.alice)
    first = Comparison.objects.earliest("created")
    for limit in (1, 2):
        comparison = make.comparison(by, pair=first.pair, dataset=first.dataset, limit=limit)
        Job.objects.filter(state="queued").exclude(pk=comparison.job.pk).delete()
        make.decode_all(comparison)
    make.comparison(by, pair=first.pair, dataset=first.dataset)
    figures.sum_up_ended(seconds=60)
    for number in range(4):
        user = User.objects.create(username=f"user{number}", password="!")
        Membership.objects.create(team=world.team, user=user, role="viewer")
        Invitation.objects.create(team=world.team, role="viewer", digest=str(number), expires=world.team.created)
        ApiToken.objects.create(team=world.team, user=world.alice, name="t", key=str(number), scope="read")


@pytest.mark.django_db
def test_no_list_asks_more_when_there_is_more(world):
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    one_of_everything(world)
    addresses = [reverse(name) for name in PAGES] + [reverse(f"{name}-list") for name in LISTS]
    client = world.page(world.alice)

    def counts() -> dict[str, int]:
        found = {}
        for address in addresses:
            with CaptureQueriesContext(connection) as asked:
                assert client.get(address).status_code == 200, address
            found[address] = len(asked)
        return found

    counts()  # what is asked only once is asked now
    before = counts()
    more_of_everything(world)
    assert counts() == before
    assert max(before.values()) <= 15

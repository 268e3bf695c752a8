"""The search over everything: bounded, by every word, and never across teams. Some of many rows are read in the order
that was asked for, and whole only where they are shown."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.kit import make
from webapp.accounts.models import Team, User
from webapp.config import (
    api_urls,  # noqa: F401  which loads every serializer
    finding,
)
from webapp.core import reading
from webapp.jobs.models import Job
from webapp.registry.models import Dataset
from webapp.studies.models import Training


def rows(client, q):
    return client.get("/find/", {"q": q}).json()["found"]


def found(client, q):
    """Rows that are found, without the documentation, in whose text many words stand."""
    return [(row["kind"], row["name"]) for row in rows(client, q) if row["kind"] != "Documentation"]


def test_things_pages_actions_and_documentation_are_found_by_every_word(world, by):
    comparison = make.comparison(by, strategies=[{"strategy": "lookup"}])
    comparison.name = "Night owl run"
    comparison.save()
    client = world.page(world.bob)
    assert found(client, "owl NIGHT") == [("Comparison", "Night owl run")]
    assert rows(client, "owl")[0]["url"] == f"/comparisons/{comparison.pk}/"
    assert found(client, "invit") == [("Page", "Team and invitations")]
    assert ("Action", "New pair") in found(client, "pair") and ("Pair", "pair") in found(client, "pair")
    assert {kind for kind, _ in found(client, "")} == {"Action", "Page"}
    told = {(row["kind"], row["name"]): row for row in rows(client, "lookup")}
    assert told["Run", "lookup:10"]["about"].startswith("Night owl run, ")
    assert len([row for row in rows(client, "the") if row["kind"] == "Documentation"]) == finding.MOST


def test_jobs_trainings_and_uploads_are_found_where_they_are_shown_and_of_each_kind_the_first_few(world, by):
    for number in range(finding.MOST + 2):
        make.upload(by, {"a.txt": b"one"}, name=f"owl & mouse {number}")
    training = make.training(by, pair=make.pair(by), dataset=make.dataset(by))
    Training.objects.update(name="owl training")
    Job.objects.filter(pk=training.job_id).update(title="owl job")
    kinds = [kind for kind, _ in found(world.page(world.bob), "owl")]
    assert sorted(kinds) == ["Job", "Training"] + ["Upload"] * finding.MOST
    urls = {row["kind"]: row["url"] for row in rows(world.page(world.bob), "owl") if row["kind"] != "Documentation"}
    assert urls["Training"] == f"/trainings/{training.pk}/" and urls["Job"] == f"/jobs/{training.job_id}/"
    assert urls["Upload"].startswith("/uploads/?q=owl+%26+mouse")


def test_nothing_of_another_team_or_in_the_bin_is_found_and_pages_only_by_those_who_may_open_them(world, by):
    make.dataset(by, name="hidden treasure")
    binned = make.model(by, name="binned treasure")
    world.page(world.bob).post(f"/models/{binned.pk}/bin/")
    checked = ("Job", "Check binned treasure")  # jobs have no bin
    assert found(world.page(world.bob), "treasure") == [("Prompts", "hidden treasure"), checked]
    assert found(world.page(world.charlie), "treasure") == []
    assert "Action" not in {kind for kind, _ in found(world.page(world.victor), "")}
    assert found(world.page(world.alice), "audit") == [("Page", "Who did what")]
    assert found(world.page(world.bob), "audit") == found(world.page(world.alice), "installation") == []
    User.objects.filter(pk=world.bob.pk).update(is_operator=True)
    assert found(world.page(world.bob), "installation") == [("Page", "Users of this installation")]


def some_teams(count: int) -> list[str]:
    Team.objects.bulk_create(Team(name=f"{number:04}") for number in range(count))
    return [f"{number:04}" for number in range(count)]


@pytest.mark.django_db
def test_each_row_comes_once_in_order_and_one_that_goes_meanwhile_is_left_out():
    names = some_teams(reading.AT_ONCE + 3)
    coming = reading.each(Team.objects.order_by("name"))
    first = next(coming)
    Team.objects.filter(name=names[-2]).delete()
    assert [team.name for team in (first, *coming)] == [*names[:-2], names[-1]]


def test_of_rows_that_are_alike_every_page_has_its_own(world, by):
    made = sorted(str(make.dataset(by, count=1, name="alike").pk) for _ in range(5))
    Dataset.objects.update(created=timezone.now())
    paged = []
    for offset in range(0, 6, 2):
        found = world.api(world.bob).get("/api/v1/datasets/", {"ordering": "-name", "limit": 2, "offset": offset})
        paged += [row["id"] for row in found.json()["results"]]
    assert paged == made
    beyond = world.api(world.bob).get("/api/v1/datasets/", {"offset": 50}).json()
    assert (beyond["count"], beyond["results"]) == (5, [])

"""The search over everything: bounded, by every word, and never across teams."""

from __future__ import annotations

import html

from tests.kit import make
from webapp.config import finding
from webapp.jobs.models import Job
from webapp.studies.models import Training


def named(world, name):
    made = make.comparison(world.actor(world.bob))
    made.name = name
    made.save()
    return made


def rows(client, q):
    return client.get("/find/", {"q": q}).json()["found"]


def found(client, q):
    """Rows that are found, without the documentation, in whose text many words stand."""
    return [(row["kind"], row["name"]) for row in rows(client, q) if row["kind"] != "Documentation"]


def test_things_pages_and_actions_are_found_by_every_word(world):
    comparison = named(world, "Night owl run")
    client = world.page(world.bob)
    assert found(client, "owl NIGHT") == [("Comparison", "Night owl run")]
    assert found(client, "invit") == [("Page", "Team and invitations")]
    assert ("Action", "New pair") in found(client, "pair") and ("Pair", "pair") in found(client, "pair")
    assert client.get("/find/?q=owl").json()["found"][0]["url"] == f"/comparisons/{comparison.pk}/"


def test_each_kind_gives_its_first_few_and_an_empty_question_lists_pages_and_actions(world, by):
    for number in range(finding.MOST + 2):
        make.dataset(by, name=f"many {number}")
    assert len(found(world.page(world.bob), "many")) == finding.MOST
    assert {kind for kind, _ in found(world.page(world.bob), "")} == {"Action", "Page"}


def test_jobs_trainings_and_uploads_are_found_where_they_are_shown(world, by):
    training, upload = (
        make.training(by, pair=make.pair(by), dataset=make.dataset(by)),
        make.upload(by, {"a.txt": b"one"}, name="owl & mouse"),
    )
    Training.objects.update(name="owl training")
    Job.objects.filter(pk=training.job_id).update(title="owl job")
    client = world.page(world.bob)
    urls = {row["kind"]: row["url"] for row in rows(client, "owl") if row["kind"] != "Documentation"}
    assert urls == {
        "Training": f"/trainings/{training.pk}/",
        "Job": f"/jobs/{training.job_id}/",
        "Upload": "/uploads/?q=owl+%26+mouse",
    }
    assert upload.name in html.unescape(client.get(urls["Upload"]).content.decode())
    assert found(world.page(world.charlie), "owl") == []


def test_a_word_finds_strategy_documentation_and_runs(world):
    client = world.page(world.victor)
    first, *_ = [row for row in rows(client, "ssd") if row["kind"] == "Documentation"]
    assert first["name"] == "SSD" and client.get(first["url"]).status_code == 200
    assert len([row for row in rows(client, "the") if row["kind"] == "Documentation"]) == finding.MOST
    make.comparison(world.actor(world.bob), strategies=[{"strategy": "lookup"}])
    told = {(row["kind"], row["name"]): row for row in rows(client, "lookup")}
    assert told["Run", "lookup:10"]["about"].startswith("one, ")
    strategy = told["Strategy", "Prompt lookup: lookup"]
    assert strategy["url"].startswith("/docs/strategies/#") and client.get(strategy["url"]).status_code == 200
    assert any(kind == "Documentation" for kind, _ in told)
    assert not [kind for kind, _ in found(world.page(world.charlie), "lookup") if kind == "Run"]


def test_things_of_one_name_are_told_apart(world, by):
    made = [named(world, "night owl") for _ in range(2)]
    assert {row["about"] for row in rows(world.page(world.bob), "night owl") if row["kind"] == "Comparison"} == {
        f"{each.created:%d %b %H:%M:%S}" for each in made
    }
    make.pair(by, name="Owl and mouse")
    (pair,) = [row for row in rows(world.page(world.bob), "mouse") if row["kind"] == "Pair"]
    assert pair["about"] == "target / draft"


def test_pages_of_owners_and_of_the_operator_are_found_by_those_who_may_open_them(world):
    assert found(world.page(world.alice), "audit") == [("Page", "Who did what")]
    assert found(world.page(world.bob), "audit") == found(world.page(world.alice), "installation") == []
    world.bob.is_operator = True
    world.bob.save()
    assert found(world.page(world.bob), "versions") == [("Page", "System")]
    assert found(world.page(world.bob), "installation") == [("Page", "Users of this installation")]


def test_nothing_of_another_team_or_in_the_bin_is_found_and_viewers_get_no_actions(world):
    make.dataset(world.actor(world.bob), name="hidden treasure")
    binned = make.model(world.actor(world.bob), name="binned treasure")
    world.page(world.bob).post(f"/models/{binned.pk}/bin/")
    assert found(world.page(world.charlie), "treasure") == []
    checked = ("Job", "Check binned treasure")  # jobs have no bin
    assert found(world.page(world.bob), "treasure") == [("Prompts", "hidden treasure"), checked]
    assert "Action" not in {kind for kind, _ in found(world.page(world.victor), "")}

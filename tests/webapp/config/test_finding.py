"""The search over everything: bounded, by every word, and never across teams."""

from __future__ import annotations

from tests.webapp import make
from webapp.config import finding


def named(world, name):
    made = make.comparison(world.actor(world.bob))
    made.name = name
    made.save()
    return made


def found(client, q):
    return [(row["kind"], row["name"]) for row in client.get("/find/", {"q": q}).json()["found"]]


def test_things_pages_and_actions_are_found_by_every_word(world):
    comparison = named(world, "Night owl run")
    client = world.page(world.bob)
    assert found(client, "owl NIGHT") == [("Comparison", "Night owl run")]
    assert found(client, "invit") == [("Page", "Team and invitations")]
    assert ("Action", "New pair") in found(client, "pair") and ("Pair", "pair") in found(client, "pair")
    assert client.get("/find/?q=owl").json()["found"][0]["url"] == f"/comparisons/{comparison.pk}/"


def test_each_kind_gives_its_first_few_and_an_empty_question_lists_pages_and_actions(world):
    by = world.actor(world.bob)
    for number in range(finding.MOST + 2):
        make.dataset(by, name=f"many {number}")
    assert len(found(world.page(world.bob), "many")) == finding.MOST
    assert {kind for kind, _ in found(world.page(world.bob), "")} == {"Action", "Page"}


def test_nothing_of_another_team_or_in_the_bin_is_found_and_viewers_get_no_actions(world):
    make.dataset(world.actor(world.bob), name="hidden treasure")
    binned = make.model(world.actor(world.bob), name="binned treasure")
    world.page(world.bob).post(f"/models/{binned.pk}/bin/")
    assert found(world.page(world.charlie), "treasure") == []
    assert found(world.page(world.bob), "treasure") == [("Prompts", "hidden treasure")]
    assert "Action" not in {kind for kind, _ in found(world.page(world.victor), "")}


def test_the_page_of_a_pair_leads_to_what_was_made_with_it_and_back_to_the_list(world):
    made = named(world, "of this pair")
    shown = world.page(world.victor).get(f"/pairs/{made.pair_id}/").content.decode()
    assert f'<a href="/comparisons/{made.pk}/">of this pair</a>' in shown
    assert '<a href="/pairs/">Pairs</a>' in shown and "None yet." in shown

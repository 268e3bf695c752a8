"""Name, notes and tags of a comparison: people change them on its page and over REST, and find it again by a tag."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.comparisons.models import Comparison, Tag


@pytest.fixture
def comparison(world):
    return make.comparison(world.actor(world.bob))


def address(comparison: Comparison) -> str:
    return f"/api/v1/comparisons/{comparison.pk}/"


def test_each_part_is_changed_alone_and_the_rest_stays(world, comparison):
    client = world.api(world.bob)
    client.patch(address(comparison), {"tags": ["nightly", "a100", "nightly"]}, format="json")
    client.patch(address(comparison), {"notes": "Second try.\nThe fan was loud."}, format="json")
    answer = client.patch(address(comparison), {"name": "Try 2"}, format="json")
    assert answer.status_code == 200
    found = {"name": "Try 2", "notes": "Second try.\nThe fan was loud.", "tags": ["a100", "nightly"]}
    assert found.items() <= answer.json().items()


def test_a_comparison_is_found_by_its_tag_in_the_list_and_over_rest(world, comparison):
    other = make.comparison(world.actor(world.bob), pair=comparison.pair)
    world.api(world.bob).patch(address(other), {"tags": ["nightly"]}, format="json")
    [row] = world.api(world.bob).get("/api/v1/comparisons/?tag=nightly").json()["results"]
    assert row["id"] == str(other.pk) and row["tags"] == ["nightly"]
    shown = world.page(world.bob).get("/comparisons/?tag=nightly").context["rows"]
    assert [one for one, *_ in shown] == [other]
    assert world.page(world.charlie).get("/comparisons/").context["list"].choices["tag"] == ("", [])


def test_what_is_too_long_or_no_tag_is_refused_and_changes_nothing(world, comparison):
    for field, value in (("tags", ["a,b"]), ("tags", ["x" * 41]), ("name", ""), ("notes", None)):
        answer = world.api(world.bob).patch(address(comparison), {field: value}, format="json")
        assert answer.status_code == 400 and field in str(answer.json())
    comparison.refresh_from_db()
    assert not Tag.objects.exists() and comparison.notes == "" and comparison.name


def test_the_form_of_the_page_saves_all_three_and_an_empty_box_empties_them(world, comparison):
    client, form = world.page(world.bob), f"/comparisons/{comparison.pk}/describe/"
    client.post(form, {"name": "Try 2", "notes": "It was late.", "tags": "nightly,  a100"})
    page = client.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "It was late." in page and ">nightly</a>" in page
    client.post(form, {"name": "Try 2", "notes": "", "tags": ""})
    comparison.refresh_from_db()
    assert (comparison.name, comparison.notes, comparison.tags.count()) == ("Try 2", "", 0)
    refused = client.post(form, {"name": "", "notes": "x", "tags": ""}, follow=True).content.decode()
    assert "Nothing was saved." in refused and ">x</p>" not in refused
    assert world.page(world.victor).post(form, {"name": "Mine"}).status_code == 403


def test_a_share_shows_neither_notes_nor_tags(world, comparison):
    client = world.api(world.bob)
    client.patch(address(comparison), {"notes": "Ask Zoe.", "tags": ["zoe"]}, format="json")
    link = client.post(f"{address(comparison)}shares/", {}, format="json").json()["link"]
    page = world.page(None).get(link.removeprefix("http://testserver")).content.decode()
    assert "Zoe" not in page and "zoe" not in page

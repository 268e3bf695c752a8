"""Name, notes and tags of a comparison: people change them on its page and over REST, and find it again by a tag."""

from __future__ import annotations

from tests.kit import make


def test_each_part_is_changed_alone_and_a_comparison_is_found_by_its_tag(world, by):
    other, client = make.comparison(by), world.api(world.bob)
    address = f"/api/v1/comparisons/{make.comparison(by, pair=other.pair).pk}/"
    client.patch(address, {"tags": ["nightly", "a100", "nightly"]}, format="json")
    client.patch(address, {"notes": "Ask Zoe.\nThe fan was loud."}, format="json")
    found = client.patch(address, {"name": "Try 2"}, format="json").json()
    told = {"name": "Try 2", "notes": "Ask Zoe.\nThe fan was loud.", "tags": ["a100", "nightly"]}
    assert told.items() <= found.items()
    [row] = client.get("/api/v1/comparisons/?tag=nightly").json()["results"]
    assert (row["id"], row["tags"]) == (found["id"], ["a100", "nightly"])
    shown = world.page(world.bob).get("/comparisons/?tag=nightly").context["rows"]
    assert [str(one.pk) for one, *_ in shown] == [found["id"]]
    assert world.page(world.charlie).get("/comparisons/").context["list"].choices["tag"] == ("", [])
    for field, value in (("tags", ["a,b"]), ("name", ""), ("notes", None)):
        refused = client.patch(address, {field: value}, format="json")
        assert refused.status_code == 400 and field in str(refused.json())
    link = client.post(f"{address}shares/", {}, format="json").json()["link"].removeprefix("http://testserver")
    page = world.page(None).get(link).content.decode()
    assert "Zoe" not in page and "nightly" not in page, "a share shows neither"


def test_the_form_of_the_page_saves_all_three_and_an_empty_box_empties_them(world, by):
    comparison, client = make.comparison(by), world.page(world.bob)
    form = f"/comparisons/{comparison.pk}/describe/"
    client.post(form, {"name": "Try 2", "notes": "It was late.", "tags": "nightly,  a100"})
    page = client.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "It was late." in page and ">nightly</a>" in page
    client.post(form, {"name": "Try 2", "notes": "", "tags": ""})
    comparison.refresh_from_db()
    assert (comparison.name, comparison.notes, comparison.tags.count()) == ("Try 2", "", 0)
    refused = client.post(form, {"name": "", "notes": "x", "tags": ""}, follow=True).content.decode()
    assert "Nothing was saved." in refused and ">x</p>" not in refused

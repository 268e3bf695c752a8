"""A classifier's files go out as they came in: to be saved, never to be shown."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.studies.classifiers import services as classifying


@pytest.fixture
def classifier(world):
    by = world.actor(world.alice)
    files = {f"disco/{name}": content for name, content in make.card().items()}
    return classifying.add_classifier(name="c", pair=make.pair(by), upload=make.upload(by, files), by=by)


def test_weights_and_card_can_be_had_by_all_of_the_team_and_nobody_else(world, classifier):
    client = world.api(world.victor)
    shown = client.get(f"/api/v1/classifiers/{classifier.pk}/").json()
    assert {file["name"] for file in shown["files"]} == {"card.json", "classifier.safetensors"}
    for name, content in make.card().items():
        answer = client.get(f"/api/v1/classifiers/{classifier.pk}/files/{name}/")
        assert answer.content == content
        assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    page = world.page(world.victor).get(f"/classifiers/{classifier.pk}/").content.decode()
    assert f"/api/v1/classifiers/{classifier.pk}/files/card.json/" in page
    answer = world.api(world.charlie).get(f"/api/v1/classifiers/{classifier.pk}/files/card.json/")
    assert answer.status_code == 404 and b"AUC" not in answer.content


def test_it_is_renamed_with_the_version_that_was_read(world, classifier):
    client, address = world.api(world.alice), f"/api/v1/classifiers/{classifier.pk}/"
    seen = client.get(address)["ETag"]
    answer = client.patch(address, {"name": "new"}, headers={"If-Match": seen})
    assert (answer.status_code, answer.json()["name"]) == (200, "new")
    assert client.get(address)["ETag"] == answer["ETag"] != seen


@pytest.mark.parametrize("name", ["other.json", "..%2fcard.json", "disco", "%00"])
def test_only_its_own_files_are_there(world, classifier, name):
    answer = world.api(world.alice).get(f"/api/v1/classifiers/{classifier.pk}/files/{name}/")
    assert answer.status_code == 404

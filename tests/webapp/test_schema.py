"""The API's schema is checked in: whoever changes the API sees the change, and so do those who read the commit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import yaml
from django.core.management import call_command

CHECKED_IN = Path(__file__).parents[2] / "docs" / "api" / "openapi.yaml"


def test_the_schema_checked_in_is_the_schema_served():
    made = StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    assert made.getvalue() == CHECKED_IN.read_text(), (
        "The API has changed. Look whether it should have, then run "
        "`manage.py spectacular --file docs/api/openapi.yaml` and commit the file."
    )


def test_every_operation_says_what_it_does_and_that_it_takes_no_other_names(world):
    """And a body that holds one is refused, by name."""
    schema = yaml.safe_load(CHECKED_IN.read_text())
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert "4XX" in operation["responses"], f"{method} {path}"
            assert operation["security"] == [{"token": []}, {"session": []}], f"{method} {path}"
    schemas = yaml.safe_load(CHECKED_IN.read_text())["components"]["schemas"]
    bodies = {name: body for name, body in schemas.items() if name.endswith("Request")}
    assert len(bodies) > 20
    assert [name for name, body in bodies.items() if body.get("additionalProperties") is not False] == []


def test_what_is_made_or_listed_leads_to_the_thing_itself_and_to_what_is_made_of_it(world):
    schema = yaml.safe_load(CHECKED_IN.read_text())
    paths = schema["paths"]
    known = {operation["operationId"]: operation for path in paths.values() for operation in path.values()}
    made, listed = (known[f"comparisons_{verb}"]["responses"] for verb in ("create", "list"))
    assert made["202"]["links"]["comparisons_retrieve"]["parameters"] == {"id": "$response.body#/id"}
    assert "links" not in made["200"]  # a plan is no comparison
    assert listed["200"]["links"]["comparisons_retrieve"]["parameters"] == {"id": "$response.body#/results/0/id"}
    taken_in = known["uploads_complete_create"]["responses"]
    for status in ("200", "202"):
        assert taken_in[status]["links"]["models_create"]["requestBody"] == {"upload": "$response.body#/id"}
    for operation in known.values():
        for response in operation["responses"].values():
            for link in response.get("links", {}).values():
                target = known[link["operationId"]]
                assert set(link.get("parameters", ())) <= {
                    parameter["name"] for parameter in target.get("parameters", ())
                }, link
                assert set(link.get("requestBody", ())) <= names_in_body(schema, target), link


def names_in_body(schema, operation):
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return set()
    name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return set(schema["components"]["schemas"][name]["properties"])


def test_the_browsable_docs_need_nothing_from_elsewhere(world):
    page = world.page(world.alice).get("/api/").content.decode()
    assert "https://" not in page and "http://" not in page


def test_the_schema_is_served_as_yaml_and_as_json_alike(world):
    client = world.api(world.alice)
    served = client.get("/api/v1/schema/")
    assert served.content.decode() == CHECKED_IN.read_text()
    for _ in range(2):
        assert client.get("/api/v1/schema/?format=json").json() == yaml.safe_load(served.content)

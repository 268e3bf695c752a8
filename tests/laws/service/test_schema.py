"""The API's schema is checked in: whoever changes the API sees the change, and so do those who read the commit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import yaml
from django.core.management import call_command

CHECKED_IN = Path(__file__).parents[3] / "docs" / "api" / "openapi.yaml"


def test_the_schema_checked_in_is_the_schema_served():
    made = StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    assert made.getvalue() == CHECKED_IN.read_text(), (
        "The API has changed. Look whether it should have, then run "
        "`manage.py spectacular --file docs/api/openapi.yaml` and commit the file."
    )


def test_every_operation_says_what_it_does_and_that_it_takes_no_other_names(world):
    """And a body that holds one is refused, by name."""
    schema = yaml.load(CHECKED_IN.read_text(), yaml.CSafeLoader)
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert "4XX" in operation["responses"], f"{method} {path}"
            assert operation["security"] == [{"token": []}, {"session": []}], f"{method} {path}"
    bodies = {name: body for name, body in schema["components"]["schemas"].items() if name.endswith("Request")}
    assert len(bodies) > 20
    assert [name for name, body in bodies.items() if body.get("additionalProperties") is not False] == []


def test_the_schema_is_served_as_yaml_and_as_json_alike(world):
    client = world.api(world.alice)
    served = client.get("/api/v1/schema/")
    assert served.content.decode() == CHECKED_IN.read_text()
    assert client.get("/api/v1/schema/?format=json").json()["info"]["title"] == "Drafthouse"

"""Prompt files as people have them: any delimiter, any columns, any name."""

from __future__ import annotations

import html
import re

from tests.kit import make
from webapp.registry import columns
from webapp.registry.models import Dataset
from webapp.registry.tables import PromptText

ROWS = [("q7", "Which bird sings at night, and why?", "nature"), ("q8", "Add one; then add two.", "maths")]


def table(delimiter: str, *heading: str) -> str:
    cells = [heading, *ROWS]
    return "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in cells) + "\n"


def test_types_and_roles_are_guessed():
    text = 'key;Frage;score;tags;half\na;"Long question; with a mark";1.5;yes;train\nb;Short;2;no;test\n'
    found = columns.look(PromptText("p.csv", text))
    assert [(column.name, column.kind) for column in found.columns] == [
        ("key", "text"), ("Frage", "text"), ("score", "number"), ("tags", "yes or no"), ("half", "text"),
    ]  # fmt: skip
    assert not found.is_known and found.guess == {"split": "half", "text": "Frage"}


def picked(page: str) -> dict[str, str]:
    selects = re.findall(r'<select id="id_[^"]*" name="([^"]*)">(.*?)</select>', page, re.S)
    chosen = {name: re.search(r'<option value="([^"]*)" selected>', options) for name, options in selects}
    return {name: html.unescape(option[1]) for name, option in chosen.items() if option and option[1]}


def test_a_file_with_odd_columns_becomes_prompts_without_an_error_on_the_way(world):
    client = world.page(world.bob)
    form = {"name": "odd", "text": table(";", "key", "Frage", "topic"), "file_name": "prompts.csv"}
    shown = client.post("/datasets/new/", {**form, "describe": "1"}).content.decode()
    assert "2 prompts would be added" in shown and '<p class="error" role="status">' not in shown
    assert "<dt>each prompt is</dt><dd><code>{Frage}</code></dd>" in shown
    assert picked(shown) == {"column": "Frage", "mapping.category": "topic"}
    client.post("/datasets/new/", {**form, **picked(shown), "add": ""})
    made = Dataset.objects.get()
    assert (made.template, made.mapping) == ("{Frage}", {"category": "topic"})
    assert made.prompts.order_by("number")[0].category == "nature"
    shown = client.post("/datasets/new/", {**form, "column": "topic", "describe": "1"}).content.decode()
    assert picked(shown) == {"column": "topic"} and '<p class="prompt">nature</p>' in shown  # another column


def test_an_uploaded_file_and_a_pasted_table_are_shown_before_they_are_added(world):
    upload = make.upload(world.actor(world.bob), {"p.data.csv": table(";", "key", "Frage", "x").encode()})
    shown = world.page(world.bob).post("/datasets/new/", {"upload": str(upload.pk), "describe": "1"}).content.decode()
    assert "Which column is what?" in shown and not Dataset.objects.exists()
    client, form = world.page(world.bob), {"name": "odd", "text": table(";", "key", "Frage", "topic")}
    shown = client.post("/datasets/new/", {**form, "describe": "1"}).content.decode()
    assert "3 prompts would be added" in shown and "These lines look like a table." in shown
    shown = client.post("/datasets/new/", {**form, "preview": "table"}).content.decode()
    assert "2 prompts would be added" in shown and picked(shown)["column"] == "Frage"
    assert 'value="prompts.csv"' in shown and "look like a table" not in shown

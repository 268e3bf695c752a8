"""Prompt sets: pasted or uploaded, in published forms or by a template of one's own; previewed before they are kept."""

from __future__ import annotations

import json

import pytest

from tests.webapp import make
from webapp.registry.models import Dataset
from webapp.uploads.models import Upload

TABLE = "task,topic,half\nAdd one to 2,maths,test\nName a bird,nature,train\n"


def post(world, address="", **body):
    return world.api(world.bob).post(f"/api/v1/datasets/{address}", body)


def test_pasted_lines_become_prompts(world):
    answer = post(world, name="mine", text="one\ntwo\n")
    assert (answer.status_code, answer.json()["prompt_count"]) == (201, 2)
    listed = world.api(world.victor).get(f"/api/v1/datasets/{answer.json()['id']}/prompts/").json()
    assert [(prompt["number"], prompt["text"]) for prompt in listed["results"]] == [(1, "one"), (2, "two")]


def test_published_forms_are_recognised(world):
    rows = [{"question": "2+2?", "answer": "#### 4"}]
    answer = post(world, name="g", file_name="g.jsonl", text="\n".join(map(json.dumps, rows)))
    assert answer.status_code == 201
    prompt = Dataset.objects.get().prompts.get()
    assert (prompt.text, prompt.reference) == ("2+2?", "#### 4")


def test_any_columns_become_prompts_by_a_template(world):
    asked = {
        "file_name": "t.csv",
        "text": TABLE,
        "template": "Q: {task}\nA:",
        "mapping": {"category": "topic", "split": "half"},
    }
    shown = post(world, "preview/", **asked).json()
    assert shown["columns"] == ["task", "topic", "half"]
    assert shown["first"][0] == {
        "id": "1",
        "text": "Q: Add one to 2\nA:",
        "category": "maths",
        "split": "test",
        "reference": "",
    }
    assert shown["splits"] == {"test": 1, "train": 1}
    assert not Dataset.objects.exists() and not Upload.objects.exists()
    assert post(world, name="t", **asked).status_code == 201


def test_a_template_that_repeats_a_column_without_end_is_refused_before_it_is_filled_in(world):
    text = "task\n" + "x" * 100_000
    answer = post(world, "preview/", file_name="t.csv", text=text, template="{task}" * 1000)
    assert answer.status_code == 400
    assert "makes a prompt of 100,000,000 characters; 1,000,000 are the most" in answer.json()["detail"]


def test_a_template_that_names_no_column_is_refused(world):
    answer = post(world, "preview/", file_name="t.csv", text=TABLE, template="Answer:")
    assert (answer.status_code, answer.json()["field"]) == (400, "template")
    assert "{text}" in answer.json()["hint"]


def test_a_template_reaches_nothing_but_columns(world):
    for template in ("{task.__class__}", "{0}", "{}", "{task!r}"):
        answer = post(world, "preview/", file_name="t.csv", text=TABLE, template=template)
        assert answer.status_code == 400 or answer.json()["first"][0]["text"] == template


@pytest.mark.parametrize(
    ("file_name", "text", "told"),
    [
        ("p.jsonl", '{"text": "a"}\n{"text": \n', "line 2 is broken"),
        ("p.jsonl", '{"text": "a\\u0000"}', "NUL"),
        ("p.jsonl", '{"text": "a\\ud800"}', "surrogate"),
        ("p.jsonl", "[" * 100_000, "not JSON"),
        ("p.csv", "a,b\n1,2\n", "none of them is known"),
        ("p.json", "[1]", "not a JSON object"),
        ("p.txt", "\n\n", "empty"),
        ("p.exe", "x", "ending"),
        ("../p.txt", "x", "ending"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(world, file_name, text, told):
    answer = post(world, name="x", file_name=file_name, text=text)
    assert answer.status_code == 400
    assert told in answer.json()["detail"]
    assert not Dataset.objects.exists() and not Upload.objects.exists()


def test_an_upload_becomes_a_set(world):
    upload = make.upload(world.actor(world.bob), {"p.txt": b"one\ntwo"})
    answer = post(world, name="x", upload=str(upload.pk))
    assert (answer.status_code, answer.json()["file_name"]) == (201, "p.txt")


def test_parquet_is_refused_in_words(world):
    upload = make.upload(world.actor(world.bob), {"p.parquet": b"PAR1\x00\xff"})
    answer = post(world, name="x", upload=str(upload.pk))
    assert (answer.status_code, answer.json()["field"]) == (400, "upload")


def test_a_set_is_given_once(world):
    assert post(world, name="x").status_code == 400
    upload = make.upload(world.actor(world.bob), {"p.txt": b"one"})
    assert post(world, name="x", text="y", upload=str(upload.pk)).status_code == 400

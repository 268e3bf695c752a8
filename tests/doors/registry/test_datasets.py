"""Prompt sets: pasted or uploaded, in published forms or by a template of columns; previewed before they are kept; how
long they are for a pair."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tests.kit import make
from webapp.core.problems import Conflict
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import columns, lengths, prompt_sets
from webapp.registry.models import Dataset, Prompt, TokenLengths
from webapp.registry.tables import PromptText
from webapp.uploads.models import Upload

TABLE = "task,topic,half\nAdd one to 2,maths,test\nName a bird,nature,train\n"
TALK = {"id": "t", "turns": ["Hello there", "And now?"], "category": "small talk"}
ASKED = {
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "<b>Rain?</b>"}],
    "tools": [{"type": "function", "function": {"name": "weather"}}],
    "max_tokens": 9,
}


def post(world, address="", **body):
    return world.api(world.bob).post(f"/api/v1/datasets/{address}", body)


def test_pasted_lines_published_forms_and_uploads_become_prompts(world):
    answer = post(world, name="mine", text="one\ntwo\n")
    assert (answer.status_code, answer.json()["prompt_count"]) == (201, 2)
    listed = world.api(world.victor).get(f"/api/v1/datasets/{answer.json()['id']}/prompts/").json()
    assert [(prompt["number"], prompt["text"]) for prompt in listed["results"]] == [(1, "one"), (2, "two")]
    post(world, name="g", file_name="g.jsonl", text=json.dumps({"question": "2+2?", "answer": "#### 4"}))
    published = Dataset.objects.get(name="g").prompts.get()
    assert (published.text, published.reference) == ("2+2?", "#### 4")
    upload = make.upload(world.actor(world.bob), {"p.txt": b"one\ntwo"})
    answer = post(world, name="x", upload=str(upload.pk))
    assert (answer.status_code, answer.json()["file_name"]) == (201, "p.txt")


def test_a_conversation_has_a_prompt_for_each_turn_and_a_request_keeps_its_tools_time_and_length(world):
    viewer, file = world.api(world.victor), {"name": "c", "file_name": "c.jsonl"}

    def prompts(row, **more):
        made = post(world, **file, text=json.dumps(row), **more)
        return made.json()["id"], viewer.get(f"/api/v1/datasets/{made.json()['id']}/prompts/").json()["results"]

    _, [first, later] = prompts(TALK)
    assert (first["id"], first["turn"], first["follows"]) == ("t", 1, "")
    assert (later["id"], later["turn"], later["follows"], later["category"]) == ("t#2", 2, "t", "small talk")
    assert later["messages"] == [{"role": "user", "content": "And now?"}]
    _, [plain] = prompts(TALK, form="chat-as-text")
    assert (plain["text"], plain["messages"]) == ("Hello there", [])
    found, [prompt] = prompts({**ASKED, "timestamp": 1767323046})
    assert {name: prompt[name] for name in ASKED} == ASKED and prompt["at"] == 1767323046.0
    shown = world.page(world.victor).get(f"/datasets/{found}/").content.decode()
    assert "system" in shown and "Be kind." in shown and "1 tool<" in shown
    assert "<b>Rain?" not in shown and "&lt;b&gt;Rain?" in shown  # no markup of the file


def test_any_columns_become_prompts_by_a_template(world):
    mapping = {"category": "topic", "split": "half"}
    asked = {"file_name": "t.csv", "text": TABLE, "template": "Q: {task}\nA:", "mapping": mapping}
    shown = post(world, "preview/", **asked).json()
    assert shown["columns"] == ["task", "topic", "half"]
    first = {"id": "1", "text": "Q: Add one to 2\nA:", "category": "maths", "split": "test", "reference": ""}
    assert (shown["first"][0], shown["splits"]) == (first, {"test": 1, "train": 1})
    assert not Dataset.objects.exists() and not Upload.objects.exists()
    assert post(world, name="t", **asked).status_code == 201


def test_a_template_names_columns_and_reaches_nothing_else(world):
    answer = post(world, "preview/", file_name="t.csv", text=TABLE, template="Answer:")
    assert (answer.status_code, answer.json()["field"]) == (400, "template")
    assert "{text}" in answer.json()["hint"]
    for template in ("{task.__class__}", "{0}", "{}", "{task!r}"):
        answer = post(world, "preview/", file_name="t.csv", text=TABLE, template=template)
        assert answer.status_code == 400 or answer.json()["first"][0]["text"] == template
    text = "task\n" + "x" * 100_000
    answer = post(world, "preview/", file_name="t.csv", text=text, template="{task}" * 1000)
    assert answer.status_code == 400
    assert "makes a prompt of 100,000,000 characters; 1,000,000 are the most" in answer.json()["detail"]


DEEP = '{"messages": [{"role": "user", "content": "a"}], "tools": [' + '{"a":' * 900 + "1" + "}" * 900 + "]}"
UNREADABLE = [
    ("p.jsonl", '{"text": "a"}\n{"text": \n', "line 2 is broken"),
    ("p.jsonl", '{"text": "a\\ud800"}', "surrogate"),
    ("p.jsonl", "[" * 100_000, "not JSON"),
    ("p.jsonl", DEEP, "p.jsonl"),
    ("p.jsonl", '{"messages": [{"role": "user", "content": "a\\u0000"}]}', "NUL"),
    (
        "p.jsonl",
        '{"messages": [{"role": "user", "content": "a"}], "timestamp": "0001-01-01T00:00:00+23:59"}',
        "p.jsonl",
    ),
    ("p.csv", "a,b\n1,2\n", "none of them is known"),
    ("../p.txt", "x", "ending"),
]


def test_what_cannot_be_read_is_told_with_its_place_and_a_set_is_given_once(world, by):
    for file_name, text, told in UNREADABLE:
        answer = post(world, name="x", file_name=file_name, text=text)
        assert (answer.status_code, told in answer.json()["detail"]) == (400, True)
    assert not Dataset.objects.exists() and not Upload.objects.exists()
    upload = make.upload(by, {"p.parquet": b"PAR1\x00\xff"})
    answer = post(world, name="x", upload=str(upload.pk))
    assert (answer.status_code, answer.json()["field"]) == (400, "upload")
    assert post(world, name="x", text="y", upload=str(upload.pk)).status_code == 400
    upload = make.upload(by, {"p.csv": b"text,more\n" + b"x," * 600_000})
    assert "too long for a preview" in post(world, "preview/", upload=str(upload.pk)).json()["detail"]


LINE = json.dumps({"text": "ä" * 900}, ensure_ascii=False)  # two bytes each in the file
LONG_FILES = {
    "p.json": "[" + ",\n".join([LINE] * 700) + "]",
    "many.jsonl": '{"text": "a"}\n' * 1001 + "broken",
}


@pytest.mark.parametrize("name", LONG_FILES)
def test_a_preview_reads_no_more_than_the_beginning_of_a_file(world, name):
    text = LONG_FILES[name]
    content = (text if name == "many.jsonl" else f"{text}\n\0").encode()  # what follows the beginning is no prompt file
    upload = make.upload(world.actor(world.bob), {name: content})
    shown = post(world, "preview/", upload=str(upload.pk)).json()
    assert not shown["is_whole"] and 400 < shown["prompt_count"] <= 1000
    assert len({len(prompt["text"]) for prompt in shown["first"]}) == 1
    assert post(world, name="all", upload=str(upload.pk)).status_code == 400


@contextmanager
def inserts() -> Iterator[Counter[int]]:
    """Count the rows of prompts that are inserted, by how many transactions had been committed before."""
    rows: Counter[int] = Counter()
    committed: list[bool] = []

    def watch(execute, sql, params, many, context):
        if sql.startswith('INSERT INTO "registry_prompt"'):
            columns = [len(one) for one in params if isinstance(one, list)]  # PostgreSQL is sent whole columns
            rows[len(committed)] += max(columns, default=sql.count("(%s"))
            transaction.on_commit(lambda: committed.append(True))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield rows


@pytest.mark.django_db(transaction=True)
def test_prompts_go_in_by_short_transactions(world):
    body = {"name": "long", "text": "word\n" * 1200}
    with inserts() as rows:
        answer = world.api(world.bob).post("/api/v1/datasets/", body)
    assert (answer.status_code, Dataset.objects.get().prompts.count()) == (201, 1200)
    assert sum(rows.values()) == 1200 and max(rows.values()) <= 500


class Killed(Exception):
    pass


def test_a_set_is_unseen_until_all_its_prompts_are_stored_and_swept_if_they_never_are(world):
    bob, client = world.actor(world.bob), world.api(world.bob)

    def look_then_fail(execute, sql, params, many, context):
        if not sql.startswith('UPDATE "registry_dataset"'):
            return execute(sql, params, many, context)
        half = Dataset.everything.get()
        assert half.prompts.count() == 2 and client.get("/api/v1/datasets/").json()["count"] == 0
        assert client.get(f"/api/v1/datasets/{half.pk}/prompts/").status_code == 404
        assert str(half.pk) not in world.page(world.bob).get("/comparisons/new/").content.decode()
        raise Killed

    with pytest.raises(Killed), connection.execute_wrapper(look_then_fail):
        prompt_sets.add_dataset(name="half", text="a\nb", file_name="p.txt", by=bob)
    assert not Dataset.everything.exists() and not Prompt.objects.exists() and not Upload.objects.exists()
    make.dataset(bob)
    Dataset.everything.update(is_whole=False)
    assert prompt_sets.sweep() == 0
    Dataset.everything.update(created=timezone.now() - 2 * prompt_sets.ABANDONED)
    assert prompt_sets.sweep() == 1 and not Prompt.objects.exists()


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


@pytest.fixture
def to_count(by):
    pair, dataset = make.pair(by), make.dataset(by, count=4)
    Job.objects.all().delete()
    return f"/api/v1/datasets/{dataset.pk}/token-lengths/", pair


def count(world, to_count):
    return world.api(world.bob).post(to_count[0], {"pair": str(to_count[1].pk)})


def work(found: list[int], contexts=(64, 32)) -> None:
    job = jobs.claim(worker="w1", queues=["light"])
    lengths.counted(job=job, lengths=found, contexts=contexts)
    jobs.succeed(job=job)


def test_they_are_counted_once_however_often_they_are_asked_for_and_read_where_the_answer_said(world, to_count):
    first = count(world, to_count)
    assert (first.status_code, first.json()["document"]) == (202, None)
    assert count(world, to_count).json()["id"] == first.json()["id"]
    work([3, 5, 9, 70])
    assert count(world, to_count).json()["document"]["longest"] == 70
    assert Job.objects.count() == 1
    (found,) = world.api(world.victor).get(first["Location"]).json()["results"]
    document = found["document"]
    assert [document[name] for name in ("prompt_count", "total", "shortest", "median", "longest")] == [4, 87, 3, 9, 70]
    assert document["context"] == {"target": 64, "draft": 32}
    assert document["over"] == {"target": {"count": 1, "first": [4]}, "draft": {"count": 1, "first": [4]}}
    assert sum(bar["count"] for bar in document["histogram"]) == 4


def test_only_who_may_count_writes_and_a_cancelled_count_may_be_asked_for_again(world, to_count):
    count(world, to_count)
    jobs.cancel(job=Job.objects.get(), by=world.actor(world.bob))
    assert count(world, to_count).status_code == 202
    assert Job.objects.filter(state="queued").count() == 1 and TokenLengths.objects.count() == 1
    job = jobs.claim(worker="w1", queues=["light"])
    jobs.give_back(job=job, reason="gone", counts=False)
    with pytest.raises(Conflict):
        lengths.counted(job=job, lengths=[1], contexts=(64, 32))
    theirs = make.pair(world.actor(world.charlie))
    answer = world.api(world.bob).post(to_count[0], {"pair": str(theirs.pk)})
    assert (answer.status_code, answer.json()["field"]) == (400, "pair")
    assert TokenLengths.objects.get().document is None


def test_the_page_counts_waits_and_shows_them(world, to_count):
    client = world.page(world.bob)
    address = f"/datasets/{Dataset.objects.get().pk}/"
    assert "a worker counts" in client.get(address).content.decode()
    sent = client.post(f"{address}token-lengths/", {"pair": str(to_count[1].pk)})
    assert sent["Location"] == f"{address}?pair={to_count[1].pk}#lengths"
    assert 'hx-trigger="load delay:2s"' in client.get(sent["Location"]).content.decode()
    work([3, 5, 9, 70])
    page = client.get(address).content.decode()
    assert "prompts have 3 to 70 tokens" in page and 'hx-trigger="load delay:2s"' not in page
    assert "1 prompt fills the target's whole context" in page
    assert '<script id="tokens" type="application/json">' in page and "charts/token-lengths" in page  # its chart
    assert client.get(f"{address}?pair=nonsense").status_code == 200
    assert "Choose a pair" in client.post(f"{address}token-lengths/", {}, follow=True).content.decode()

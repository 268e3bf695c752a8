"""Bodies that are too long end in a 413 that the client gets to read, before any disk fills. Hostile ones get few
sentences back, and are read no further than is needed to refuse them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

from webapp.core import rest, strict_json
from webapp.core.api import Input
from webapp.core.bodies import LONGEST_QUERY, MOST_IN_QUERY, PATIENCE, LimitBodies
from webapp.core.fields import Table

LONGEST = 10


async def swallow(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the whole body."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def sent(pieces: list[bytes], query: bytes = b"", **headers: bytes) -> tuple[list[dict[str, Any]], int]:
    """The messages of the answer, and how many pieces were read."""
    waiting = iter([(piece, True) for piece in pieces[:-1]] + [(pieces[-1], False)])
    answer: list[dict[str, Any]] = []
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        piece, more = next(waiting)
        return {"type": "http.request", "body": piece, "more_body": more}

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    named = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    scope = {"type": "http", "headers": named, "query_string": query}
    asyncio.run(LimitBodies(swallow, longest=LONGEST)(scope, receive, send))
    return answer, read


def status(pieces: list[bytes], query: bytes = b"", **headers: bytes) -> int:
    return int(sent(pieces, query, **headers)[0][0]["status"])


@pytest.mark.parametrize("declared", [True, False])
def test_the_longest_body_passes_and_one_byte_more_does_not_and_is_read_to_its_end(declared):
    fits, over = ({"content_length": length} if declared else {} for length in (b"10", b"11"))
    assert status([b"12345", b"67890"], **fits) == 200
    answer, read = sent([b"12345", b"67890", b"x"], **over)
    assert (answer[0]["status"], read) == (413, 3)


def test_patience_has_an_end_and_two_lengths_are_refused_and_a_refusal_carries_the_id_of_its_request():
    answer, read = sent([b"1234567890"] * 100)
    assert (answer[0]["status"], read) == (413, PATIENCE + 1)
    assert status([b"12345"], content_length=b"5", transfer_encoding=b"chunked") == 400
    assert status([b"12345"], transfer_encoding=b"chunked") == 200
    (start, body), _ = sent([b""], content_length=b"11", x_request_id=b"mine-1234")
    assert (b"x-request-id", b"mine-1234") in start["headers"]
    assert json.loads(body["body"])["request_id"] == "mine-1234"


def test_a_query_has_a_length_and_a_count_that_are_refused_unread():
    for query, expected in (
        (b"a=" + b"x" * (LONGEST_QUERY - 2), 200),
        (b"a=" + b"x" * (LONGEST_QUERY - 1), 414),
        (b"&".join([b"a"] * MOST_IN_QUERY), 200),
        (b"&".join([b"a"] * (MOST_IN_QUERY + 1)), 414),
    ):
        assert status([b"1234"], query) == expected


LARGEST_ANSWER = 10_000  # bytes


def inputs(kind: type[Any] = Input) -> Iterator[type[Any]]:
    for sub in kind.__subclasses__():
        yield from [sub] if sub.__module__.startswith("webapp.") else []
        yield from inputs(sub)


def inside(name: str, field: Any) -> Iterator[tuple[str, Any]]:
    yield name, field
    for inner, child in getattr(field, "fields", {}).items():
        yield from inside(f"{name}.{inner}", child)
    if getattr(field, "child", None) is not None:
        yield from inside(f"{name}[]", field.child)


def is_bounded(field: Any) -> bool:
    match field:
        case serializers.ListSerializer() | serializers.ListField():
            return field.max_length is not None
        case serializers.DictField():
            return isinstance(field, Table)
        case serializers.IntegerField() | serializers.FloatField():
            return field.min_value is not None and field.max_value is not None
        case serializers.CharField() | serializers.JSONField():
            return getattr(field, "max_length", None) is not None
    return True


def test_every_text_list_object_and_number_of_every_body_has_a_bound():
    found = [each for kind in inputs() for name, field in kind().fields.items() for each in inside(name, field)]
    assert len(found) > 60
    assert [name for name, field in found if not is_bounded(field)] == []


def many(count: int, value: Any = 0) -> dict[str, Any]:
    return {f"key{number}": value for number in range(count)}


HOSTILE = {
    "too many names": many(16_000),
    "a long name": {"x" * 900_000: 1},
    "too many strategies": {"strategies": [{}] * 200_000},
    "a long parameter": {"strategies": [{"strategy": "static", "params": {"x" * 500_000: "y" * 400_000}}]},
    "a long id": {"pair": "x" * 1_000_000, "dataset": 10**39},
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_body_is_refused_in_a_few_sentences(world, body):
    client = world.api(world.alice)
    answer = client.generic("POST", "/api/v1/comparisons/", json.dumps(body), content_type="application/json")
    assert answer.status_code in (400, 413), answer.content[:300]
    assert len(answer.content) < LARGEST_ANSWER
    assert answer.json()["detail"].endswith((".", "?"))


def test_more_values_than_a_body_may_hold_are_counted_before_they_are_read(monkeypatch):
    monkeypatch.setattr(strict_json.json, "loads", lambda *_, **__: pytest.fail("it was read"))
    quoted = '["\\\\"' + ',"\\\\"' * 200
    for text in ('{"a":' + "[" * 200, "[" + "0," * 200, '{"a":"b",' * 200, '["' + '","' * 200, quoted):
        with pytest.raises(ValueError, match="more than 100 values"):
            strict_json.loads(text, most=100)
    monkeypatch.undo()
    for text in ('["' + 'one, [two], {three}, \\"four\\"; ' * 200 + '"]', '{"a": [1, 2, {"b": "c"}]}'):
        assert strict_json.loads(text, most=10) == json.loads(text)  # commas and brackets within a text are no values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("9" * 5_000, "the number 999999999999… has 5,000 characters; it may have 40."),
        ("-1e999", "-1e999 is too large a number"),
        ("NaN", "not a JSON number"),
    ],
)
def test_a_number_that_is_none_is_refused_in_words(text, told):
    with pytest.raises(ValueError, match=told):
        strict_json.loads(f'{{"seed": {text}}}')


def test_more_than_any_page_sends_is_refused(world):
    too_long = {"name": "x", "text": f"{'a prompt ' * 500}\n" * (rest.Body().bytes // 4500)}
    client = world.api(world.alice)
    refused = client.post("/api/v1/teams/", too_long)
    assert (refused.status_code, refused.json()["code"]) == (413, "too-large")
    assert client.post("/api/v1/datasets/", too_long).status_code == 201
    answer = world.page(world.alice).post("/comparisons/new/", {f"field{number}": "1" for number in range(501)})
    assert answer.status_code == 400
    part = '--x\r\nContent-Disposition: form-data; name="{0}"; filename="{0}"\r\n\r\n1\r\n'
    body = "".join(map(part.format, "ab"))
    sent = world.page(world.alice).generic("POST", "/team/new/", body + "--x--", "multipart/form-data; boundary=x")
    assert sent.status_code == 400

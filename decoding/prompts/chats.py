"""Rows that hold messages: chats of our own, request logs of the OpenAI API, ShareGPT, and lists of turns.

A row gives one turn, or several that are asked one after another; between them comes the model's own answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from decoding.prompts.chat.messages import Chat, asked, checked
from decoding.prompts.rows import BrokenRow, Row, word, words

MOST_TURNS = 256
SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
IN_MS = 1e11  # a timestamp above this many seconds, the year 5138, is one in milliseconds
MOST_TOKENS = 1_000_000  # that a request may ask for
LENGTHS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a conversation, and the answer that the file gives to it, if any."""

    chat: Chat
    reference: str = ""


Turns = Callable[[Row], list[Turn]]


def request(row: Row) -> Row:
    """Return the body of a logged request; a row without a body is one itself."""
    body = row.get("body", row)
    if not isinstance(body, dict):
        raise BrokenRow("its 'body' is not a JSON object")
    return body


def messages(row: Row) -> list[Turn]:
    """Read one request. A last message of the assistant is the reference."""
    body = request(row)
    if "messages" not in body and isinstance(body.get("prompt"), str):
        return []  # a request for a completion: plain text
    if "messages" not in body:
        raise BrokenRow("it has neither 'messages' nor a text as 'prompt'")
    chat, answer = asked(body["messages"], body.get("tools"))
    given = row.get("reference")
    return [Turn(chat, given if isinstance(given, str) else answer)]


def completion(row: Row) -> str:
    return word(request(row), "prompt")


def sent(row: Row) -> tuple[float | None, int | None]:
    """Return when a logged request was sent, in seconds since 1970, and how many tokens it asked for at most."""
    return _seconds(row.get("timestamp")), _length(request(row))


def questions(row: Row) -> list[Turn]:
    """Read Spec-Bench, MT-Bench and SPEED-Bench, where `turns` holds what the user asks."""
    given = row.get("reference")
    answers = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return _in_order([{"role": "user", "content": text} for text in words(row, "turns")], answers)


def sharegpt(row: Row) -> list[Turn]:
    """Read the messages of human and system. Answers in the file are references: the model gives its own."""
    said = row.get("conversations")
    if isinstance(said, str) or not isinstance(said, Sequence) or not said:
        raise BrokenRow("its 'conversations' is not a list of messages")
    found = [_spoken(one) for one in said]
    asks: list[dict[str, str]] = []
    answers: list[str] = []
    for message in found:
        if message["role"] != "assistant":
            asks.append(message)
            answers += [""] if message["role"] == "user" else []
        elif answers:  # some begin in the middle, with an answer to nothing
            answers[-1] = answers[-1] or message["content"]
    return _in_order(asks, answers)


def _spoken(one: object) -> dict[str, str]:
    speaker, text = (one.get("from"), one.get("value")) if isinstance(one, dict) else (None, None)
    if not isinstance(speaker, str) or speaker not in SPEAKERS or not isinstance(text, str):
        raise BrokenRow(f"a message is from {str(speaker)[:40]!r}; it can be from {', '.join(SPEAKERS)}, with a value")
    return {"role": SPEAKERS[speaker], "content": text}


def _in_order(asks: Sequence[dict[str, str]], answers: Sequence[Any]) -> list[Turn]:
    """Make a turn of each message of the user, with the system's messages before it."""
    turns: list[Turn] = []
    before: list[dict[str, str]] = []
    for message in asks:
        before.append(message)
        if message["role"] == "user":
            answer = answers[len(turns)] if len(turns) < len(answers) else ""
            turns.append(Turn(checked(Chat(tuple(before))), answer if isinstance(answer, str) else ""))
            before = []
    if not turns or len(turns) > MOST_TURNS:
        raise BrokenRow(f"it has {len(turns)} turns; there must be 1 to {MOST_TURNS}")
    return turns


def _seconds(stamp: object) -> float | None:
    """Read seconds or milliseconds since 1970, or a date and time by ISO 8601, in UTC where it names no zone."""
    if stamp is None:
        return None
    try:
        if isinstance(stamp, str):
            when = datetime.fromisoformat(stamp)
            stamp = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
            seconds = stamp / 1000 if stamp > IN_MS else float(stamp)
            if 0 <= seconds <= IN_MS:
                return seconds
    except (ValueError, OverflowError):
        pass
    raise BrokenRow(f"its timestamp is {str(stamp)[:40]!r}; write seconds since 1970, or a date and time by ISO 8601")


def _length(body: Row) -> int | None:
    length = next((body[name] for name in LENGTHS if body.get(name) is not None), None)
    if length is None:
        return None
    if type(length) is not int or not 1 <= length <= MOST_TOKENS:
        raise BrokenRow(f"its max_tokens is {str(length)[:40]!r}; it must lie between 1 and {MOST_TOKENS:,}")
    return length

"""Messages of a chat prompt, checked. Standard library only.

The names are those of the OpenAI chat API: each message has a role and a content; tools are functions that the model
may call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding import bounded_json
from decoding.prompts.rows import BrokenRow

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
BESIDE = ("name", "tool_call_id", "reasoning_content")  # texts that templates read beside role and content
MOST_MESSAGES = 1_000
DEEPEST = 16  # levels of a tool's description or of a call's arguments
LONGEST = 1_000_000  # characters of all messages and tools
UNFIT = re.compile("[\0\ud800-\udfff]")

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages that one turn adds, and the tools of its conversation."""

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()
    turn: int = 1
    follows: str = ""  # id of the prompt whose answer comes before these messages; empty in the first turn

    @property
    def text(self) -> str:
        """The contents alone: what a target without a template can be given."""
        return "\n\n".join(message["content"] for message in self.messages if message["content"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "messages": list(self.messages),
            "tools": list(self.tools),
            "turn": self.turn,
            "follows": self.follows,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Chat:
        return cls(tuple(stored["messages"]), tuple(stored["tools"]), stored["turn"], stored["follows"])


def asked(messages: object, tools: object = None) -> tuple[Chat, str]:
    """Check the messages of one request. Return them as one turn, and the answer if the last message is one."""
    found = [message_of(given) for given in _listed(messages, "messages")]
    is_answered = found and found[-1]["role"] == "assistant" and "tool_calls" not in found[-1]
    answer = str(found.pop()["content"]) if is_answered else ""
    if not found or found[-1]["role"] not in ("user", "tool"):
        raise BrokenRow("its messages ask for nothing; the last one must be of the user or of a tool")
    return checked(Chat(tuple(found), tuple(map(_tool, _listed(tools or [], "tools"))))), answer


def checked(chat: Chat) -> Chat:
    """Refuse a chat that is too large or too deep, or that holds what no database can hold."""
    whole = [*chat.messages, *chat.tools]
    if bounded_json.is_deeper(whole, DEEPEST + 1):
        raise BrokenRow(f"its messages or tools are nested deeper than {DEEPEST} levels")
    words = json.dumps([chat.messages, chat.tools], ensure_ascii=False)
    if len(words) > LONGEST:
        raise BrokenRow(f"its messages have {len(words):,} characters, more than the {LONGEST:,} of the longest prompt")
    if any(map(UNFIT.search, bounded_json.texts(whole))):
        raise BrokenRow("its messages hold a NUL character or half a surrogate pair; write whole characters")
    if not chat.text.strip() and not chat.tools:
        raise BrokenRow("its messages are empty")
    return chat


def message_of(given: object) -> Message:
    """Keep what templates read of one message."""
    if not isinstance(given, Mapping):
        raise BrokenRow("one of its messages is not a JSON object")
    role = given.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise BrokenRow(f"a message has the role {str(role)[:40]!r}; it can be {', '.join(ROLES)}")
    calls = [_call(call) for call in _listed(given.get("tool_calls") or [], "tool_calls")]
    content = _content(given.get("content"))
    beside = {name: given[name] for name in BESIDE if isinstance(given.get(name), str)}
    return {"role": ROLES[role], "content": content, **beside, **({"tool_calls": calls} if calls else {})}


def _content(content: object) -> str:
    """Return the text of a message. It may come in parts, of which all must be text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise BrokenRow("the content of a message is not text")
    return "\n".join(map(_part, content))


def _part(part: object) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if isinstance(part, Mapping) and kind in ("text", "input_text") and isinstance(part.get("text"), str):
        return str(part["text"])
    named = f"a part of the type {str(kind)[:40]!r}" if kind else "a part without a type"
    raise BrokenRow(f"a message holds {named}; Drafthouse runs text alone, no images and no audio")


def _call(call: object) -> Message:
    """Unpack the arguments of a tool call: the API sends them as JSON text, templates expect an object."""
    if not isinstance(call, Mapping):
        raise BrokenRow("a tool call is not a JSON object")
    function = call.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise BrokenRow("a tool call names no function")
    given = function.get("arguments")
    return {**call, "function": {**function, "arguments": _unpacked(given) if isinstance(given, str) else given}}


def _unpacked(arguments: str) -> Any:
    try:
        found = bounded_json.parse(arguments)
    except ValueError:
        return arguments
    return found if isinstance(found, dict) else arguments


def _tool(tool: object) -> Message:
    if not isinstance(tool, Mapping):
        raise BrokenRow("one of its tools is not a JSON object")
    return tool


def _listed(value: object, name: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise BrokenRow(f"its {name!r} is not a list")
    if len(value) > MOST_MESSAGES:
        raise BrokenRow(f"its {name!r} has {len(value):,} entries; {MOST_MESSAGES:,} are the most")
    return value

"""Words: the place where a server's bytes become text. Behind it no text holds the server's key, half a character or a
NUL, which databases refuse. Standard library only.
"""

from __future__ import annotations

import json
import re
from typing import Any

BLOT = "(key)"
SHOWN_AT_MOST = 15  # characters of a key in a row
SHORTEST_KEY = 8  # characters; a shorter one may stand in any text, so its words would be torn for nothing
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Words:
    def __init__(self, key: str = "") -> None:
        self._run = min(len(key), SHOWN_AT_MOST + 1)
        starts = range(len(key) - self._run + 1) if len(key) >= SHORTEST_KEY else ()
        self._runs = frozenset(key[at : at + self._run] for at in starts)

    def text(self, raw: bytes) -> str:
        return self.plain(raw.decode("utf-8", errors="replace"))

    def json(self, raw: bytes) -> Any:
        """Read JSON. Raise ValueError for what is none."""
        try:
            found = json.loads(raw.decode("utf-8", errors="replace"))
            return self._plain_in(found) if self._runs or b"\\u" in raw else found
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def holds_key(self, text: str) -> bool:
        return bool(self._runs) and self.plain(text) != UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)

    def plain(self, text: str, before: str = "") -> str:
        """Blot out the key and every part of it that is too long, also one that begins in the text `before`."""
        text = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
        if not self._runs:
            return text
        whole = before[1 - self._run :] + text
        told, shown = list[str](), len(whole) - len(text)  # what stands before `shown` is told
        for at in range(len(whole) - self._run + 1):
            if whole[at : at + self._run] in self._runs:
                if at >= shown or not told:
                    told += [whole[shown:at], BLOT]
                shown = max(shown, at + self._run)
        return "".join(told) + whole[shown:]

    def _plain_in(self, value: Any) -> Any:
        match value:
            case str():
                return self.plain(value)
            case list():
                return [self._plain_in(one) for one in value]
            case dict():
                return {self._plain_in(name): self._plain_in(one) for name, one in value.items()}
            case _:
                return value

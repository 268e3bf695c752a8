"""Server-sent events, parsed as their bytes come in. Only `data` is read: no server of models uses the other fields."""

from __future__ import annotations

from decoding.errors import ServerFailed

LARGEST_EVENT = 16 * 1024 * 1024  # bytes; the last event of some servers repeats the prompt


class Events:
    """Finds whole events in a stream of bytes, wherever the bytes are cut. Lines may end in CR, LF or both."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, more: bytes) -> list[bytes]:
        """Return the data of each event that is complete now."""
        text = self._rest + more
        if b"\r" in text:
            held = text.endswith(b"\r")  # half of CRLF, or a line end of its own: the next byte tells
            text = text[:-1] if held else text
            *lines, self._rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            self._rest += b"\r" if held else b""
        else:
            *lines, self._rest = text.split(b"\n")
        found = [data for line in lines if (data := self._line(line)) is not None]
        if len(self._rest) + self._size > LARGEST_EVENT:
            raise ServerFailed(f"The server sent an event of more than {LARGEST_EVENT:,} bytes, so it was cut off.")
        return found

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            data, self._data, self._size = self._data, [], 0
            return b"\n".join(data) if data else None
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._size += len(line)
        return None

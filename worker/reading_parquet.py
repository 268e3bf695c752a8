"""Write the rows of a Parquet file as JSON lines, within bounds. This runs in a process of its own: some kilobytes may
ask for terabytes, and what dies of that must not be the worker."""

from __future__ import annotations

import json
import math
import re
import resource
import sys
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

ROWS_AT_ONCE = 16


class UnreadableParquet(Exception):
    """Why, as the rest of a sentence that begins with the file's name."""


def refused(number: int, why: str) -> UnreadableParquet:
    return UnreadableParquet(f"row {number} cannot be taken: {why}.")


def write(path: str, lines: str, *bounds: str) -> None:
    """Write the rows to the file `lines`. `bounds`: the most rows and bytes, and the bytes of memory for this."""
    most_rows, most_bytes, memory = map(int, bounds)
    if sys.platform == "linux":  # macOS refuses such a bound; there rows and bytes are all that is bounded
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    byte_count = 0
    with Path(lines).open("wb") as file:
        for number, row in _rows(path):
            if number > most_rows:
                raise refused(number, f"a prompt file may have at most {most_rows} rows")
            line = _line(number, row)
            byte_count += len(line)
            if byte_count > most_bytes:
                raise refused(number, f"with it the rows make more than {most_bytes} bytes, the most of a prompt file")
            file.write(line)


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from arro3.io import read_parquet  # once the memory is bounded

    number = 0
    try:
        for batch in read_parquet(Path(path), batch_size=ROWS_AT_ONCE):
            columns = {name: batch[name] for name in batch.schema.names}
            for index in range(batch.num_rows):
                number += 1
                yield number, {name: column[index].as_py() for name, column in columns.items()}
    except GeneratorExit:
        raise
    except BaseException as error:  # a panic of the library's is no Exception
        after = f" after row {number}" if number else ""
        raise UnreadableParquet(f"cannot be read{after}: it is torn, or not a Parquet file ({_gist(error)}).") from None


def _line(number: int, row: dict[str, Any]) -> bytes:
    plain = {}
    for column, value in row.items():
        try:
            plain[column] = _plain(value)
        except ValueError as error:
            raise refused(number, f"its column {column!r} holds {error}; leave that column out") from None
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _plain(value: Any) -> Any:
    """Convert a value to what JSON can hold."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    """Bytes are often text whose writer forgot to call it so."""
    match value:
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case Decimal() | timedelta():
            return str(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise ValueError("bytes that are not text") from None
    raise ValueError(f"a {type(value).__name__}, which is not text")


def _gist(error: BaseException) -> str:
    quoted = re.search(r'"([^"]+)"', str(error))
    return (quoted[1] if quoted else str(error) or type(error).__name__)[:200]

"""The containers that prompt files come in (JSON lines, a JSON array, CSV, TSV, plain text), taken apart into rows."""

import csv
import io
import json
from collections.abc import Callable, Iterator

from decoding.prompt_forms import BrokenRow, Row

LONGEST = 1_000_000  # characters of one prompt, some 250,000 tokens; a longer one is a wrong file, not a prompt
SEPARATOR = "---"

Placed = tuple[str, Row | BrokenRow]  # where in the file, and what is there


def _json_lines(text: str) -> Iterator[Placed]:
    for number, line in enumerate(text.split("\n"), 1):  # splitlines() would also split at what JSON allows in strings
        if line.strip():
            yield f"line {number}", _json_object(line)


def _json_object(line: str) -> Row | BrokenRow:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        return BrokenRow(f"not JSON ({error})")
    return value if isinstance(value, dict) else BrokenRow("not a JSON object")


def _json(text: str) -> Iterator[Placed]:
    """A JSON array of objects; published `.json` files are often JSON lines by another name."""
    if not text.lstrip().startswith("["):
        yield from _json_lines(text)
        return
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        yield f"line {error.lineno}", BrokenRow(f"not JSON ({error.msg})")
        return
    except RecursionError:
        yield "line 1", BrokenRow("its lists are nested too deeply")
        return
    for number, entry in enumerate(entries, 1):
        yield f"entry {number}", entry if isinstance(entry, dict) else BrokenRow("not a JSON object")


def _separated(delimiter: str) -> Callable[[str], Iterator[Placed]]:
    """A table whose first line names the columns."""

    def rows(text: str) -> Iterator[Placed]:
        csv.field_size_limit(LONGEST)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        columns: list[str] = []
        place = "line 1"
        try:
            for cells in reader:
                if not columns:
                    columns = [cell.strip() for cell in cells]
                elif len(cells) == len(columns):
                    yield place, dict(zip(columns, cells, strict=True))
                elif cells:
                    yield place, BrokenRow(f"it has {len(cells)} cells where the first line has {len(columns)}")
                place = f"line {reader.line_num + 1}"
        except csv.Error as error:
            yield place, BrokenRow(f"not a table ({error})")

    return rows


def _text(text: str) -> Iterator[Placed]:
    """One prompt a line; or, where a line says `---`, what lies between such lines."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if SEPARATOR not in lines:
        yield from ((f"line {number}", {"text": line}) for number, line in enumerate(lines, 1) if line.strip())
        return
    start = 0
    for end in [*(number for number, line in enumerate(lines) if line == SEPARATOR), len(lines)]:
        piece = "\n".join(lines[start:end]).strip("\n")
        if piece.strip():
            yield f"line {start + 1}", {"text": piece}
        start = end + 1


CONTAINERS: dict[str, Callable[[str], Iterator[Placed]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".txt": _text,
    ".md": _text,
}

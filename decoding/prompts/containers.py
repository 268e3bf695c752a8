"""Containers of prompt files (JSON lines, a JSON array, a table, plain text), recognised and parsed into rows."""

import csv
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import PurePath

from decoding import bounded_json
from decoding.errors import BadPrompts
from decoding.prompts.forms import form_of
from decoding.prompts.rows import BrokenRow, Row

LONGEST = 1_000_000  # characters of one prompt, some 250,000 tokens; a longer one means a wrong file
MOST_LINES = 2_000_000
MOST_CELLS = 100_000  # in one row of a table
DELIMITERS = (",", ";", "\t", "|")
PROBED = 64 * 1024  # characters that say how a file is to be read
PROBED_ROWS = 20
LONE_RETURN = re.compile(r"(?<=\r)(?!\n)(?!\Z)")

Placed = tuple[str, Row | BrokenRow]  # position in the file, and the row or why it is broken


def lines(text: str) -> Iterator[str]:
    """Yield lines with their ends, one at a time: a list of 64 million empty lines would take 0.5 GiB. splitlines()
    would also split at characters that JSON allows in strings."""
    if (count := text.count("\n")) > MOST_LINES:
        raise BadPrompts(f"The file has {count:,} lines, more than {MOST_LINES:,}. Split it, or remove empty lines.")
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def is_json_array(text: str) -> bool:
    return next((char for char in text if not char.isspace()), "") == "["


def _json_lines(text: str) -> Iterator[Placed]:
    for number, line in enumerate(lines(text), 1):
        if not line.isspace():
            yield f"line {number}", _json_object(line.rstrip("\r\n"))


def _json_object(line: str) -> Row | BrokenRow:
    try:
        value = bounded_json.loads(line)
    except ValueError as error:
        return BrokenRow(f"not JSON ({error})")
    return value if isinstance(value, dict) else BrokenRow("not a JSON object")


def _json(text: str) -> Iterator[Placed]:
    """Parse a JSON array of objects. Published `.json` files are often JSON lines instead."""
    if not is_json_array(text):
        yield from _json_lines(text)
        return
    try:
        for number, entry in enumerate(bounded_json.entries(text), 1):
            yield f"entry {number}", entry if isinstance(entry, dict) else BrokenRow("not a JSON object")
    except ValueError as error:
        yield f"line {getattr(error, 'lineno', 1)}", BrokenRow(f"not JSON ({getattr(error, 'msg', error)})")


class TableLines:
    """Lines for a csv reader, with few enough cells: 64 million commas would become a list of 64 million cells."""

    def __init__(self, text: str, delimiter: str) -> None:
        self._lines = lines(text)
        self._delimiter = delimiter
        self.cells = 0  # upper bound for the current row; `table_rows` sets it back

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.cells += line.count(self._delimiter)
            if self.cells > MOST_CELLS:
                raise csv.Error(f"a row has more than {MOST_CELLS:,} cells")
            yield from LONE_RETURN.split(line)  # old files end lines with a lone carriage return


def table_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number after each row, and its cells. Raises csv.Error."""
    csv.field_size_limit(LONGEST)
    source = TableLines(text, delimiter)
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    for cells in reader:
        source.cells = 0
        yield reader.line_num, cells


def _table(text: str, delimiter: str) -> Iterator[Placed]:
    """Parse a table whose first line names the columns."""
    columns: list[str] = []
    place = "line 1"
    try:
        for line_number, cells in table_rows(text, delimiter):
            if not columns:
                columns = [cell.strip() for cell in cells]
            elif len(cells) == len(columns):
                yield place, dict(zip(columns, cells, strict=True))
            elif cells:
                yield place, BrokenRow(f"it has {len(cells)} cells where the first line has {len(columns)}")
            place = f"line {line_number + 1}"
    except csv.Error as error:
        yield place, BrokenRow(f"not a table ({error})")


def _text(text: str) -> Iterator[Placed]:
    """Parse one prompt per line."""
    for number, line in enumerate(lines(text), 1):
        if not line.isspace():
            yield f"line {number}", {"text": line.rstrip("\r\n")}


CONTAINERS: dict[str, Callable[[str], Iterator[Placed]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": lambda text: _table(text, delimiter_of(text, ",")),
    ".tsv": lambda text: _table(text, delimiter_of(text, "\t")),
    ".txt": _text,
    ".md": _text,
}


def rows(text: str, name: str) -> Iterator[Placed]:
    """Parse a file. The ending of its name says how, unless the content shows that the name is wrong."""
    if (recognised := _recognised(text)) is not None:
        return recognised(text)
    ending = PurePath(name).suffix.lower()
    if ending not in CONTAINERS:
        has = f"ends in {ending}" if ending else "has no ending"
        raise BadPrompts(f"{name} {has}; the name of a prompt file ends in {', '.join(CONTAINERS)}.")
    return CONTAINERS[ending](text)


def first_rows(rows: Iterator[Placed], count: int, *, is_cut: bool) -> tuple[list[Placed], bool]:
    """Return the first rows of a file, and whether these are all. Of a cut text, the last row may be cut too: it is
    left out."""
    found = list(islice(rows, count + 1))
    is_part = is_cut or len(found) > count
    return (found[:-1] if is_part else found), not is_part


def _recognised(text: str) -> Callable[[str], Iterator[Placed]] | None:
    """Return a parser if the first lines can be nothing else: JSON objects, or a table with known columns."""
    if is_json_array(text):
        return _json if text[text.index("[") + 1 : PROBED].lstrip().startswith("{") else None
    filled = (line for line in lines(text[:PROBED]) if not line.isspace())
    first = [_json_object(line.rstrip()) for line in islice(filled, 2)]
    objects = [row for row in first if isinstance(row, dict)]
    if objects and (len(objects) == len(first) or any(map(form_of, objects))):  # one of two may be broken
        return _json_lines
    if not looks_like_table(text):
        return None
    delimiter = delimiter_of(text, ",")
    columns = dict.fromkeys(cell.strip() for cell in _probe(text, delimiter)[0])
    return partial(_table, delimiter=delimiter) if form_of(columns) else None


def looks_like_table(text: str) -> bool:
    """Whether the first rows have equally many columns, and more than one. Prose with commas may look so too."""
    if text[:PROBED].lstrip().startswith(("{", "[")):
        return False
    widths = [len(cells) for cells in _probe(text, delimiter_of(text, ","))]
    return len(widths) > 1 and widths[0] > 1 and len(set(widths)) == 1


def delimiter_of(text: str, usual: str) -> str:
    """Return the delimiter that splits the first rows into the most columns, alike in each row if there is such a
    one."""

    def fit(delimiter: str) -> tuple[bool, int]:
        widths = [len(cells) for cells in _probe(text, delimiter)] or [1]
        return widths[0] > 1 and len(set(widths)) == 1, widths[0]

    return max((usual, *(each for each in DELIMITERS if each != usual)), key=fit)


def _probe(text: str, delimiter: str) -> list[list[str]]:
    """Split the first rows, as far as they are a table."""
    found: list[list[str]] = []
    try:
        for _, cells in islice(table_rows(text[:PROBED], delimiter), PROBED_ROWS):
            if cells:
                found.append(cells)
    except csv.Error:
        pass  # the text was cut within quotes, or is no table
    return found[:-1] if len(text) > PROBED and 1 < len(found) < PROBED_ROWS else found

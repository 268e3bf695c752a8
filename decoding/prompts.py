"""Prompt files of the usual forms, read into prompts. It parses what it is given; it opens no file and no connection.

A file is a container (JSON lines, a JSON array, CSV, TSV, plain text) of rows, and rows have a form: our own columns,
or those of a published data set, which is recognised by them. A form's template makes the text the target continues.
All are raw text: no chat template and no beginning-of-text token, as in the published experiments.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from decoding.errors import BadPrompts

LONGEST = 1_000_000  # characters of one prompt, some 250,000 tokens; a longer one is a wrong file, not a prompt
SPLITS = {"": "", "train": "train", "test": "test"} | dict.fromkeys(("validation", "valid", "val", "dev"), "validation")
IDS = ("id", "task_id", "question_id", "prompt_id")
SEPARATOR = "---"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to continue. `reference` is what the data set's authors would have answered, if they say so."""

    id: str
    text: str
    category: str = ""
    split: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of one data set look, and what is made of them. `template` is for people; `text` does it."""

    slug: str
    title: str
    columns: tuple[frozenset[str], ...]  # a row has this form when it has all columns of one of these sets
    template: str
    origin: str  # where the template comes from
    text: Callable[[Row], str]
    reference: Callable[[Row], str]


class _BrokenRow(Exception):
    """Why one row is no prompt."""


def _word(row: Row, *names: str) -> str:
    """The first of these columns that the row has, as text."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            raise _BrokenRow(f"its {name!r} is not text")
    raise _BrokenRow(f"it has no {' or '.join(map(repr, names))}")


def _words(row: Row, name: str) -> list[str]:
    """A column that holds a list of texts, whatever container it came in."""
    value = row.get(name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _BrokenRow(f"its {name!r} is not a list")
    words = list(value)
    if not words or not all(isinstance(word, str) for word in words):
        raise _BrokenRow(f"its {name!r} holds no text")
    return words


def _optional(*names: str) -> Callable[[Row], str]:
    return lambda row: next((str(row[name]) for name in names if row.get(name) is not None), "")


def _first(name: str) -> Callable[[Row], str]:
    return lambda row: _words(row, name)[0] if row.get(name) is not None and len(row[name]) else ""


def _mbpp(row: Row) -> str:
    return f'"""\n{_word(row, "text", "prompt")}\n{_words(row, "test_list")[0]}\n"""\n'


def _alpaca(row: Row) -> str:
    context = _optional("input")(row)
    return _word(row, "instruction") + (f"\n\n{context}" if context.strip() else "")


def _cnn_dailymail(row: Row) -> str:
    return f"Summarize:\n{_word(row, 'article').strip()}\nSummary:\n"


def _columns(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(names.split()) for names in sets)


FORMS = {
    form.slug: form
    for form in (
        Form(
            "humaneval",
            "HumanEval",
            _columns("prompt canonical_solution entry_point"),
            "{prompt}",
            "as published, and as in the SSD experiments",
            lambda row: _word(row, "prompt"),
            _optional("canonical_solution"),
        ),
        Form(
            "mbpp",
            "MBPP",
            _columns("text code test_list", "prompt code test_list"),
            '"""\n{text}\n{first of test_list}\n"""\n',
            "the docstring form in which completion models such as StarCoder are usually evaluated; DISCO's is unknown",
            _mbpp,
            _optional("code"),
        ),
        Form(
            "cnn-dailymail",
            "CNN/DailyMail",
            _columns("article highlights"),
            "Summarize:\n{article}\nSummary:\n",
            "the DISCO authors' later benchmark code (distributed speculative inference); DISCO's is unknown",
            _cnn_dailymail,
            _optional("highlights"),
        ),
        Form(
            "alpaca",
            "Alpaca",
            _columns("instruction output"),
            "{instruction}\n\n{input}, or {instruction} alone where there is no input",
            "the SSD experiments' data script",
            _alpaca,
            _optional("output"),
        ),
        Form(
            "ultrafeedback",
            "UltraFeedback",
            _columns("instruction completions", "prompt chosen rejected"),
            "{instruction}, in the binarized edition {prompt}",
            "the SSD experiments' data script",
            lambda row: _word(row, "instruction", "prompt"),
            lambda row: "",
        ),
        Form(
            "gsm8k",
            "GSM8K",
            _columns("question answer"),
            "{question}",
            "the SSD experiments' data script",
            lambda row: _word(row, "question"),
            _optional("answer"),
        ),
        Form(
            "spec-bench",
            "Spec-Bench",
            _columns("turns category"),
            "{first of turns}",
            "Spec-Bench's question.jsonl; a prompt is continued once, so later turns are left out",
            lambda row: _words(row, "turns")[0],
            _first("reference"),
        ),
        Form(
            "plain",
            "Prompts",
            _columns("text", "prompt"),
            "{text}, or {prompt}",
            "columns of our own: text, and if you like id, category, split, reference",
            lambda row: _word(row, "text", "prompt"),
            _optional("reference"),
        ),
    )
}


def read_prompts(text: str, name: str, *, form: str | None = None) -> list[Prompt]:
    """Read a prompt file's text; its name's ending tells the container, its columns the form unless one is named."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise BadPrompts(f"{name} is empty. Write at least one prompt into it.")
    if "\0" in text:
        raise BadPrompts(f"{name} holds NUL characters, so it is no text file. Save it as UTF-8 text.")
    ending = PurePath(name).suffix.lower()
    if ending not in _CONTAINERS:
        has = f"ends in {ending}" if ending else "has no ending"
        raise BadPrompts(f"{name} {has}; the name of a prompt file ends in {', '.join(_CONTAINERS)}.")
    return _prompts(_CONTAINERS[ending](text), name, form)


def from_rows(rows: Iterable[Row], name: str, *, form: str | None = None) -> list[Prompt]:
    """Read rows that the caller took out of a container of another kind, such as Parquet."""
    return _prompts(((f"row {number}", row) for number, row in enumerate(rows, 1)), name, form)


def decode(data: bytes, name: str) -> str:
    """Turn a file's bytes into text: UTF-8, or UTF-16 where a byte-order mark says so."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPrompts(f"{name}, line {line}: not {encoding[:6].upper().rstrip('-')} text. "
                         "Save the file as UTF-8 and load it again.") from None  # fmt: skip


_Placed = tuple[str, Row | _BrokenRow]  # where in the file, and what is there


def _prompts(rows: Iterable[_Placed], name: str, form: str | None) -> list[Prompt]:
    """Make prompts of rows, or say where the first broken one is, why, and how many good ones there were."""
    chosen = _named(form) if form else None
    prompts: list[Prompt] = []
    first_at: dict[str, str] = {}
    broken: list[tuple[str, str]] = []
    for number, (place, row) in enumerate(rows, 1):
        try:
            if isinstance(row, _BrokenRow):
                raise row
            chosen = chosen or _recognised(row, name)
            prompt = _prompt(row, chosen, str(number))
            if prompt.id in first_at:
                raise _BrokenRow(f"its id {prompt.id!r} is that of {first_at[prompt.id]} already")
        except _BrokenRow as error:
            broken.append((place, str(error)))
        else:
            first_at[prompt.id] = place
            prompts.append(prompt)
    if broken:
        raise BadPrompts(_told(name, broken, len(prompts)))
    if not prompts:
        raise BadPrompts(f"{name} holds no prompt. Write at least one into it.")
    return prompts


def _told(name: str, broken: list[tuple[str, str]], good_count: int) -> str:
    place, reason = broken[0]
    more = f", as are {len(broken) - 1} more" if len(broken) > 1 else ""
    good = "1 prompt is good" if good_count == 1 else f"{good_count} prompts are good"
    return f"{name}, {place} is broken{more}: {reason}. {good}. Mend or remove what is broken and load the file again."


def _named(form: str) -> Form:
    if form not in FORMS:
        raise BadPrompts(f"There is no prompt form {form!r}; there are {', '.join(FORMS)}.")
    return FORMS[form]


def _recognised(row: Row, name: str) -> Form:
    for form in FORMS.values():
        if any(columns <= row.keys() for columns in form.columns):
            return form
    raise BadPrompts(
        f"{name} has the columns {', '.join(map(str, row))}, and none of them is known to hold prompts. "
        f"Name that column text, or choose one of the forms {', '.join(FORMS)}."
    )


def _prompt(row: Row, form: Form, number: str) -> Prompt:
    text = form.text(row)
    if not text.strip():
        raise _BrokenRow("its text is empty")
    if len(text) > LONGEST:
        raise _BrokenRow(f"it has {len(text):,} characters, more than the {LONGEST:,} of the longest prompt")
    split = _optional("split")(row).lower()
    if split not in SPLITS:
        raise _BrokenRow(f"its split is {split!r}, which can be train, validation, test or nothing")
    return Prompt(
        id=_optional(*IDS)(row) or number,
        text=text,
        category=_optional("category")(row),
        split=SPLITS[split],
        reference=form.reference(row),
    )


def _json_lines(text: str) -> Iterator[_Placed]:
    for number, line in enumerate(text.split("\n"), 1):  # splitlines() would also split at what JSON allows in strings
        if line.strip():
            yield f"line {number}", _json_object(line)


def _json_object(line: str) -> Row | _BrokenRow:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        return _BrokenRow(f"not JSON ({error})")
    return value if isinstance(value, dict) else _BrokenRow("not a JSON object")


def _json(text: str) -> Iterator[_Placed]:
    """A JSON array of objects; published `.json` files are often JSON lines by another name."""
    if not text.lstrip().startswith("["):
        yield from _json_lines(text)
        return
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        yield f"line {error.lineno}", _BrokenRow(f"not JSON ({error.msg})")
        return
    except RecursionError:
        yield "line 1", _BrokenRow("its lists are nested too deeply")
        return
    for number, entry in enumerate(entries, 1):
        yield f"entry {number}", entry if isinstance(entry, dict) else _BrokenRow("not a JSON object")


def _separated(delimiter: str) -> Callable[[str], Iterator[_Placed]]:
    """A table whose first line names the columns."""

    def rows(text: str) -> Iterator[_Placed]:
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
                    yield place, _BrokenRow(f"it has {len(cells)} cells where the first line has {len(columns)}")
                place = f"line {reader.line_num + 1}"
        except csv.Error as error:
            yield place, _BrokenRow(f"not a table ({error})")

    return rows


def _text(text: str) -> Iterator[_Placed]:
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


_CONTAINERS: dict[str, Callable[[str], Iterator[_Placed]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".txt": _text,
    ".md": _text,
}

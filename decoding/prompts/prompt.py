"""Prompt files of the usual forms, read into prompts. The caller passes text; nothing here opens a file or connection.

A file is a container (`prompt_containers`) of rows, and rows have a form (`prompt_forms`): our own columns, or those of
a published data set, which the columns identify. A form's template makes the text that the target continues.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from decoding.errors import BadPrompts
from decoding.prompts.containers import LONGEST, Placed
from decoding.prompts.containers import rows as rows_of
from decoding.prompts.forms import BrokenRow, Form, Row, named, optional, recognised

SPLITS = {"": "", "train": "train", "test": "test"} | dict.fromkeys(("validation", "valid", "val", "dev"), "validation")
LARGEST_PROMPT_FILE = 64 * 1024 * 1024  # bytes
MOST_PROMPTS = 100_000
LONGEST_ID = 200  # characters
IDS = ("id", "task_id", "question_id", "prompt_id")


HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text to continue. `reference` is the answer of the data set's authors, if there is one."""

    id: str
    text: str
    category: str = ""
    split: str = ""
    reference: str = ""


def read_prompts(text: str, name: str, *, form: str | None = None) -> list[Prompt]:
    """Read a prompt file. Its content or the ending of `name` gives the container, and the columns give the form unless
    `form` names one."""
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise BadPrompts(f"{name} is empty. Write at least one prompt into it.")
    if "\0" in text:
        raise BadPrompts(f"{name} holds NUL characters, so it is no text file. Save it as UTF-8 text.")
    return _prompts(rows_of(text, name), name, form)


def from_rows(rows: Iterable[Row], name: str, *, form: str | None = None) -> list[Prompt]:
    """Read rows that the caller took from another kind of container, such as Parquet."""
    return _prompts(((f"row {number}", row) for number, row in enumerate(rows, 1)), name, form)


def decode(data: bytes, name: str) -> str:
    """Decode a file's bytes: UTF-8, or UTF-16 if a byte-order mark says so."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPrompts(f"{name}, line {line}: not {encoding[:6].upper().rstrip('-')} text. "
                         "Save the file as UTF-8 and load it again.") from None  # fmt: skip


def _prompts(rows: Iterable[Placed], name: str, form: str | None) -> list[Prompt]:
    """Turn rows into prompts. An error says where the first broken row is, why, and how many rows are good."""
    chosen = named(form) if form else None
    prompts: list[Prompt] = []
    first_at: dict[str, str] = {}
    first_broken, broken_count = None, 0
    for number, (place, row) in _counted(rows, name):
        try:
            if isinstance(row, BrokenRow):
                raise row
            chosen = chosen or recognised(row, name)
            prompt = _prompt(row, chosen, str(number))
            if prompt.id in first_at:
                raise BrokenRow(f"its id {prompt.id!r} is that of {first_at[prompt.id]} already")
        except BrokenRow as error:
            first_broken = first_broken or (place, str(error))
            broken_count += 1
        else:
            first_at[prompt.id] = place
            prompts.append(prompt)
    if first_broken:
        raise BadPrompts(_told(name, *first_broken, broken_count, len(prompts)))
    if not prompts:
        raise BadPrompts(f"{name} holds no prompt. Write at least one into it.")
    return prompts


def _counted(rows: Iterable[Placed], name: str) -> Iterator[tuple[int, Placed]]:
    for number, placed in enumerate(rows, 1):
        if number > MOST_PROMPTS:
            raise BadPrompts(f"{name} has more than {MOST_PROMPTS:,} rows, the most of a prompt file. Split the file.")
        yield number, placed


def _told(name: str, place: str, reason: str, broken_count: int, good_count: int) -> str:
    more = f", as are {broken_count - 1} more" if broken_count > 1 else ""
    good = "1 prompt is good" if good_count == 1 else f"{good_count} prompts are good"
    return f"{name}, {place} is broken{more}: {reason}. {good}. Fix or remove it and load the file again."


def _prompt(row: Row, form: Form, number: str) -> Prompt:
    text = form.text(row)
    if not text.strip():
        raise BrokenRow("its text is empty")
    if len(text) > LONGEST:
        raise BrokenRow(f"it has {len(text):,} characters, more than the {LONGEST:,} of the longest prompt")
    split = optional("split")(row).lower()
    if split not in SPLITS:
        raise BrokenRow(f"its split is {split[:40]!r}, which can be train, validation, test or nothing")
    prompt = Prompt(
        id=optional(*IDS)(row) or number,
        text=text,
        category=optional("category")(row),
        split=SPLITS[split],
        reference=form.reference(row),
    )
    if len(prompt.id) > LONGEST_ID:
        raise BrokenRow(f"its id has {len(prompt.id):,} characters, more than {LONGEST_ID}")
    for column, word in (
        ("id", prompt.id),
        ("text", text),
        ("category", prompt.category),
        ("reference", prompt.reference),
    ):
        if HALF_PAIR.search(word):
            raise BrokenRow(f"its {column} holds half a surrogate pair; write the whole character")
    return prompt

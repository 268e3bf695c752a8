"""Register prompt sets, and preview what a file would become.

A file may hold 64 MiB and 100,000 prompts. A preview reads only its beginning. All of it is read before anything is
written, and the prompts are written in many short transactions: until the last, nobody sees the set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from decoding.public import FORMS, BadPrompts, Chat, prompts
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Invalid
from webapp.registry import columns, tables
from webapp.registry.models import Dataset, Prompt
from webapp.registry.tables import PromptText
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader, whole

LARGEST_PROMPT_FILE = prompts.LARGEST_PROMPT_FILE
MOST_PROMPTS = prompts.MOST_PROMPTS
PREVIEW = 5
PREVIEWED_BYTES = 1024 * 1024  # more than the longest prompt
PREVIEWED_ROWS = 1000
AT_ONCE = 500  # rows in one transaction
ABANDONED = timedelta(hours=1)  # later, nobody still adds prompts to a set


@dataclass(frozen=True, slots=True)
class Preview:
    """The prompt set that a file would become, as far as its first rows show."""

    columns: list[str]
    kinds: dict[str, str]  # by column
    guess: dict[str, str]  # role → the column that seems to hold it
    template: str  # what each row becomes
    prompt_count: int
    is_whole: bool  # the rows that were read are all
    splits: dict[str, int]
    categories: dict[str, int]
    first: list[prompts.PromptItem]


def preview(file: PromptText) -> Preview:
    """Read the first rows."""
    found, is_whole = tables.read_first(file, PREVIEWED_ROWS)
    table = columns.look(file)
    return Preview(
        columns=[column.name for column in table.columns],
        kinds={column.name: column.kind for column in table.columns},
        guess=table.guess,
        template=file.template or (FORMS[file.form].template if file.form else table.template),
        prompt_count=len(found),
        is_whole=is_whole,
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
        first=found[:PREVIEW],
    )


def beginning_of(*, upload: Upload | None = None, text: str = "", file_name: str = "", **options: Any) -> PromptText:
    """Read as much as a preview needs of an upload, or of pasted text."""
    if upload is None:
        return PromptText(file_name, text[:PREVIEWED_BYTES], **options, is_cut=len(text) > PREVIEWED_BYTES)
    file = _only_file(upload)
    is_cut = file.size > PREVIEWED_BYTES
    content = FileReader(file, upload.team_id).read(PREVIEWED_BYTES)
    return PromptText(_base_name(file), _decoded(content, file, is_cut=is_cut), **options, is_cut=is_cut)


def _file_of(*, upload: Upload | None, text: str = "", file_name: str = "", **options: Any) -> PromptText:
    """Read all of an upload, or take pasted text."""
    if upload is None:
        return PromptText(file_name, text, **options)
    file = _only_file(upload)
    content = whole(file, upload.team_id, longest=LARGEST_PROMPT_FILE)
    return PromptText(_base_name(file), _decoded(content, file), **options)


def _only_file(upload: Upload) -> UploadedFile:
    uploads.require_complete(upload)
    files = list(upload.files.all())
    if len(files) != 1:
        raise Invalid(f"A prompt set is one file; this upload has {len(files)}.", field="upload")
    return files[0]


def _base_name(file: UploadedFile) -> str:
    return file.path.rsplit("/")[-1]


def _decoded(content: bytes, file: UploadedFile, *, is_cut: bool = False) -> str:
    try:
        return prompts.decode(content, file.path, is_cut=is_cut)
    except BadPrompts as error:
        raise Invalid(str(error), field="upload", code=error.code) from None


def add_dataset(*, name: str, by: Actor, upload: Upload | None = None, **asked: Any) -> Dataset:
    """Add the prompts of an upload, or of pasted text with a file name. Nobody sees the set until all are stored."""
    by.require(Right.SUBMIT)
    file = _file_of(upload=upload, **asked)
    found = tables.read(file)
    kept = upload or uploads.keep(
        team=by.home, name=file.file_name, files=[(file.file_name, file.text.encode())], by=by
    )
    dataset = _unseen(name, kept, file, found, by)
    try:
        _store(dataset, found)
        with transaction.atomic():
            dataset.is_whole = True
            dataset.save(update_fields=["is_whole"])
            audit.record(by, "added", dataset, prompt_count=dataset.prompt_count)
    except BaseException:
        dataset.discard()
        if upload is None:
            kept.delete()
        raise
    return dataset


def sweep() -> int:
    """Delete sets whose web process ended while it added them. Return how many."""
    left = list(Dataset.everything.filter(is_whole=False, created__lt=timezone.now() - ABANDONED))
    for dataset in left:
        dataset.discard()
    return len(left)


def _unseen(name: str, upload: Upload, file: PromptText, found: Sequence[prompts.PromptItem], by: Actor) -> Dataset:
    return Dataset.everything.create(
        team=by.home,
        created_by=by.user,
        name=name,
        upload=upload,
        file_name=file.file_name,
        form=file.form,
        template=file.template,
        mapping=dict(file.mapping),
        prompt_count=len(found),
        is_whole=False,
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
    )


def _store(dataset: Dataset, found: Sequence[prompts.PromptItem]) -> None:
    for start in range(0, len(found), AT_ONCE):
        rows = [
            _row(dataset, number, prompt) for number, prompt in enumerate(found[start : start + AT_ONCE], start + 1)
        ]
        Prompt.objects.bulk_create(rows)


def _row(dataset: Dataset, number: int, prompt: prompts.PromptItem) -> Prompt:
    return Prompt(
        dataset=dataset,
        number=number,
        name=prompt.id[:200],
        text=prompt.text,
        category=prompt.category[:200],
        split=prompt.split,
        reference=prompt.reference,
        chat=prompt.chat and prompt.chat.to_dict(),
        at=prompt.at,
        max_tokens=prompt.max_tokens,
    )


def prompt_of(row: Prompt) -> prompts.PromptItem:
    """Return a stored prompt as decoding takes it."""
    chat = Chat.from_dict(row.chat) if row.chat else None
    return prompts.PromptItem(
        row.name, row.text, row.category, row.split, row.reference, chat=chat, at=row.at, max_tokens=row.max_tokens
    )


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common(50))

"""Register prompt sets, and preview what a file would become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from decoding.public import BadPrompts, Chat, prompts
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Invalid
from webapp.registry import columns, tables
from webapp.registry.models import Dataset, Prompt
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload
from webapp.uploads.reading import whole

LARGEST_PROMPT_FILE = prompts.LARGEST_PROMPT_FILE
MOST_PROMPTS = prompts.MOST_PROMPTS
PREVIEW = 5


@dataclass(frozen=True, slots=True)
class Preview:
    """The prompt set that a file would become."""

    columns: list[str]
    kinds: dict[str, str]  # by column
    guess: dict[str, str]  # role → the column that seems to hold it
    prompt_count: int
    splits: dict[str, int]
    categories: dict[str, int]
    first: list[prompts.Prompt]


def preview(
    *, file_name: str, text: str, form: str = "", template: str = "", mapping: Mapping[str, str] | None = None
) -> Preview:
    found = _read(file_name, text, form, template, mapping)
    table = columns.look(text, file_name)
    return Preview(
        columns=[column.name for column in table.columns],
        kinds={column.name: column.kind for column in table.columns},
        guess=table.guess,
        prompt_count=len(found),
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
        first=found[:PREVIEW],
    )


def text_of(upload: Upload) -> tuple[str, str]:
    """Return name and text of an upload's only file."""
    uploads.require_complete(upload)
    files = list(upload.files.all())
    if len(files) != 1:
        raise Invalid(f"A prompt set is one file; this upload has {len(files)}.", field="upload")
    content = whole(files[0], upload.team_id, longest=LARGEST_PROMPT_FILE)
    try:
        return files[0].path.rsplit("/")[-1], prompts.decode(content, files[0].path)
    except BadPrompts as error:
        raise Invalid(str(error), field="upload", code=error.code) from None


def add_pasted_dataset(*, file_name: str, text: str, by: Actor, **options: Any) -> Dataset:
    by.require(Right.SUBMIT)
    _read(file_name, text, options.get("form", ""), options.get("template", ""), options.get("mapping"))
    content = [(file_name, text.encode())]
    upload = uploads.keep(team=by.home, name=file_name, files=content, by=by)
    return add_dataset(upload=upload, by=by, **options)


@transaction.atomic
def add_dataset(
    *,
    name: str,
    upload: Upload,
    by: Actor,
    form: str = "",
    template: str = "",
    mapping: Mapping[str, str] | None = None,
) -> Dataset:
    by.require(Right.SUBMIT)
    file_name, text = text_of(upload)
    found = _read(file_name, text, form, template, mapping)
    dataset = Dataset.objects.create(
        team=by.home,
        created_by=by.user,
        name=name,
        upload=upload,
        file_name=file_name,
        form=form,
        template=template,
        mapping=dict(mapping or {}),
        prompt_count=len(found),
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
    )
    Prompt.objects.bulk_create(
        (
            Prompt(
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
            for number, prompt in enumerate(found, 1)
        ),
        batch_size=500,
    )
    audit.record(by, "added", dataset, prompt_count=len(found))
    return dataset


def prompt_of(row: Prompt) -> prompts.Prompt:
    """Return a stored prompt as decoding takes it."""
    chat = Chat.from_dict(row.chat) if row.chat else None
    return prompts.Prompt(
        row.name, row.text, row.category, row.split, row.reference, chat=chat, at=row.at, max_tokens=row.max_tokens
    )


def _read(
    file_name: str, text: str, form: str, template: str, mapping: Mapping[str, str] | None
) -> list[prompts.Prompt]:
    return tables.read(text, file_name, form=form, template=template, mapping=mapping)


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common(50))

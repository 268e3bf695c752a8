"""The form of a new prompt set: it shows what the file would become, and lets people say which column is what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from decoding.public import prompt_containers
from webapp.accounts.asked import ActorRequest
from webapp.core.forms import Form
from webapp.registry import columns, prompt_sets, serializers
from webapp.registry.columns import PromptTable
from webapp.registry.prompt_sets import Preview

COLUMN = "column"  # the select that stands for a template of one column
ROLES = {"id": "Id", "category": "Category", "split": "Split", "reference": "Reference answer"}


@dataclass(frozen=True, slots=True)
class Pick:
    """A select: its name in the form, its label, and the column that it holds."""

    name: str
    label: str
    chosen: str


class PromptSetForm(Form):
    def __init__(self, request: ActorRequest) -> None:
        super().__init__(
            serializers.NewDataset, request, nested={"mapping": serializers.Mapping}, actor=request.actor
        )  # fmt: skip
        self.actor = request.actor
        self.posted = request.POST
        self.table: PromptTable | None = None
        self.preview: Preview | None = None
        self.why_not = ""
        if self.data is not None and (self.data.get("text") or self.data.get("upload")):
            self._look()

    def _plain(self, posted: QueryDict) -> dict[str, Any]:
        plain = super()._plain(posted)
        if (column := posted.get(COLUMN, "")) and not plain.get("template"):
            plain["template"] = f"{{{column}}}"
        if posted.get("preview") == "table":
            plain["file_name"] = "prompts.csv"
        if not plain.get("template"):
            plain.pop("mapping", None)  # the columns of a known form say it themselves
        return plain

    def _look(self) -> None:
        """Read the file as the form stands; with the guessed columns where nobody has chosen yet."""
        asked = {"name": "preview", **(self.data or {})}
        trial = Form(serializers.NewDataset, data=asked, actor=self.actor)
        self.preview = trial.submit(self._previewed)
        self.why_not = "" if self.preview else trial.refusal

    def _previewed(self, name: str, **asked: Any) -> Preview:
        file = prompt_sets.beginning_of(**asked)
        self.table = columns.look(file)
        if self.has_picks and not file.template and COLUMN not in self.posted:
            file = replace(file, **columns.mapping_of(self.table))
        return prompt_sets.preview(file)

    @property
    def has_picks(self) -> bool:
        """Whether people say which column is what: neither a chosen nor a recognised form does."""
        if self.table is None or self.posted.get("form"):
            return False
        return self.has_template or not self.table.is_known

    @property
    def may_be_table(self) -> bool:
        """Whether lines that would become one prompt each look like the rows of a table."""
        text = (self.data or {}).get("text", "")
        columns = [column.name for column in self.table.columns] if self.table else []
        return columns == ["text"] and prompt_containers.looks_like_table(text)

    @property
    def has_template(self) -> bool:
        return bool(self.posted.get("template"))

    @property
    def picks(self) -> list[Pick]:
        is_asked = COLUMN in self.posted or any(f"mapping.{role}" in self.posted for role in ROLES)
        guess = self.table.guess if self.table and not is_asked else {}
        first = Pick(COLUMN, "Prompt", guess.get("text") or self.posted.get(COLUMN, ""))
        rest = [
            Pick(f"mapping.{role}", label, guess.get(role) or self.posted.get(f"mapping.{role}", ""))
            for role, label in ROLES.items()
        ]
        return rest if self.has_template else [first, *rest]

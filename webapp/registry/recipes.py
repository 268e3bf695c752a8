"""Recipe: a pair, prompts and a way to sample. A comparison, a study and a training each begin with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from decoding.public import BadSampling, Sampling, lacks_scores, without_draft
from webapp.core.problems import Invalid
from webapp.entries import services as entries
from webapp.entries.models import Entry
from webapp.registry.models import Dataset, Pair, Prompt, Readiness


@dataclass(frozen=True, slots=True)
class Recipe:
    pair: Pair | None  # None: servers run alone
    dataset: Dataset
    split: str
    limit: int  # how many prompts, after the split was taken
    sampling: Sampling

    @property
    def prompts(self) -> QuerySet[Prompt]:
        return chosen(self.dataset, self.split, self.limit)

    @property
    def columns(self) -> dict[str, Any]:
        """Values of the columns with these names."""
        parts = {"pair": self.pair, "dataset": self.dataset, "split": self.split, "limit": self.limit}
        return {**parts, "sampling": self.sampling.to_dict()}


class RecipeColumns:
    """Mixin for models that hold a recipe in columns."""

    dataset: Any
    split: Any
    limit: Any

    @property
    def prompts(self) -> QuerySet[Prompt]:
        return self.prompts_of(self.dataset)

    def prompts_of(self, dataset: Dataset) -> QuerySet[Prompt]:
        """Return as many prompts of a set, of the same split."""
        return chosen(dataset, self.split, self.limit)


def chosen(dataset: Dataset, split: str, limit: int) -> QuerySet[Prompt]:
    """Return the first prompts of a set, or of one split of it."""
    prompts = dataset.prompts.filter(split=split) if split else dataset.prompts.all()
    return prompts.order_by("number")[:limit]


def checked(
    *, pair: Pair | None, dataset: Dataset, split: str, limit: int | None, sampling: Mapping[str, Any] | None
) -> Recipe:
    """Make a recipe of what a body asks for; raise Invalid if a part is refused, missing or out of bounds."""
    for role, model in (pair.by_role if pair else {}).items():
        if model.state == Readiness.REFUSED:
            raise Invalid(
                f"The {role}, {model.name}, was refused: {model.reason}", field="pair", hint="Choose another."
            )
    there = dataset.splits.get(split, 0) if split else dataset.prompt_count
    if not there:
        has = ", ".join(name or "(none)" for name in dataset.splits)
        raise Invalid(f"{dataset.name} has no split {split!r}; it has {has}.", field="split")
    return Recipe(pair, dataset, split, min(limit or there, there), sampling_of(sampling or {}, within="sampling."))


def require_draft(pair: Pair, what: str, hint: str = "Choose a pair with a draft.") -> None:
    """Refuse `what`, which needs a draft, for a target alone."""
    if pair.is_undrafted:
        raise Invalid(without_draft.lacks_draft(what), field="pair", code="no-draft", hint=hint)


TLI = "Choose another pair, or make a pair of these models with the setting tli."


def require_scores(pair: Pair, what: str, hint: str = TLI) -> None:
    """Refuse `what`, which records the draft's scores of the target's tokens, where the two match text."""
    if pair.matches_text:
        raise Invalid(lacks_scores(what), field="pair", code="other-tokenizer", hint=hint)


def sampling_of(asked: Mapping[str, Any], *, within: str = "") -> Sampling:
    """Read sampling settings; raise Invalid that names the field, `within` its parent."""
    try:
        return Sampling.from_dict(asked)
    except BadSampling as error:
        raise Invalid(str(error), field=f"{within}{str(error).split()[0]}", code=error.code) from None


def freeze(pair: Pair | None, dataset: Dataset, *more: Entry) -> None:
    """Fix the names of all that something launched points at."""
    entries.freeze(*([pair, *pair.by_role.values()] if pair else []), dataset, *more)

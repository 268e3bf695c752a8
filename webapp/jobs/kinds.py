"""Declarations of kinds of jobs. Whoever launches a job gives one to `enqueue`, which writes it on the job's row.
Pages, REST and estimates read it there, so neither the database nor the web process has a list of kinds.

A kind that an app launches is declared in that app's `kinds.py`, any other in its own module in `worker/jobs`. Both
are imported by the engine process too: they use the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    slug: str
    label: str
    parts: str  # what its progress counts, in the plural: samples, prompts
    is_light: bool = False  # it runs no model and waits in the queue `light`; for others the launcher names a queue
    keeps_parts: bool = False  # another attempt goes on with the parts that are done; without this it begins anew
    needs_card: bool = False  # its arguments hold a machine card, which the launcher reads
    needs_draft: bool = True  # it is refused for a target alone, and where the draft matches text (SLEM)
    takes_loads: bool = False  # its arguments may hold numbers of users at once
    uses_classifier: bool = False  # its arguments may hold the id of a classifier of the pair
    takes_lookahead: bool = False  # what it makes is compared with a fixed lookahead, which the launcher names
    samples: Callable[[Any], int] | None = None  # most that a StudyRecipe lets it decode; None: one of each prompt
    page: str = ""  # name of the URL of what it makes, and of the relation from its job to that

    def columns(self) -> dict[str, Any]:
        """Columns of a job of this kind."""
        return {
            "kind": self.slug,
            "kind_label": self.label,
            "parts": self.parts,
            "keeps_parts": self.keeps_parts,
            "page": self.page,
        }

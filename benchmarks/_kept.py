"""Filled database that is kept, so that it can be measured again without being filled again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks._filling import fill


def filled(folder: Path, comparison_count: int) -> dict[str, Any]:
    """One object per kind by route name. Fills the folder unless that was done before. Migrations must have run."""
    from django.apps import apps
    from django.db import connection

    from webapp.accounts.models import User

    note = folder / f"filled-{connection.vendor}.json"
    if not note.exists():
        if User.objects.exists():
            raise SystemExit(f"{folder} holds a database that was not filled to its end. Delete it, or name another.")
        _, things = fill(comparison_count)
        rows = {name: [thing._meta.label, str(thing.pk)] for name, thing in things.items()}
        note.write_text(json.dumps({"comparisons": comparison_count, "things": rows}))
    known = json.loads(note.read_text())
    if known["comparisons"] != comparison_count:
        raise SystemExit(
            f"{folder} was filled with {known['comparisons']} comparisons, not {comparison_count}. Ask with "
            f"--comparisons {known['comparisons']}, or name another folder."
        )
    return {name: apps.get_model(label).objects.get(pk=pk) for name, (label, pk) in known["things"].items()}

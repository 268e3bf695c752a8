"""Runs across comparisons, as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from webapp.comparisons.across.rows import FIGURES, RunRow
from webapp.comparisons.models import Figures, Run
from webapp.comparisons.serializers import SERVERS_ONLY
from webapp.core.api import Named, Output
from webapp.jobs.models import JobState

ALIKE = ("number", "strategy", "params", "label", "concurrency", "rate", "recorded")  # in row and answer


class FiguresOut(Output):
    device = serializers.CharField(source="conditions.device")
    conditions = serializers.UUIDField(source="conditions_id", help_text="runs that share them can be compared")

    class Meta:
        model = Figures
        fields = tuple(FIGURES)


class RunOut(Output):
    comparison_name = serializers.CharField(source="comparison.name")
    pair = Named(source="comparison.pair", allow_null=True, help_text=SERVERS_ONLY)
    dataset = Named(source="comparison.dataset")
    state = serializers.ChoiceField(choices=JobState.choices, source="comparison.job.state")
    launched = serializers.DateTimeField(source="created")
    figures = FiguresOut(allow_null=True, help_text="null until the comparison has ended")

    class Meta:
        model = Run
        fields = (
            "id", "comparison", "comparison_name", "number", "strategy", "params", "label", "concurrency", "rate",
            "recorded", "pair", "dataset", "state", "launched", "figures",
        )  # fmt: skip

    def to_representation(self, row: RunRow) -> dict[str, Any]:
        """Show a row as it was read: a list of hundreds has no time to ask each field."""
        pair, dataset = row["comparison__pair_id"], row["comparison__dataset_id"]
        shown = {
            "id": row["pk"],
            "comparison": row["comparison_id"],
            "comparison_name": row["comparison__name"],
            **{name: row[name] for name in ALIKE},
            "pair": pair and {"id": pair, "name": row["comparison__pair__name"]},
            "dataset": {"id": dataset, "name": row["comparison__dataset__name"]},
            "state": row["comparison__job__state"],
            "launched": row["created"],
            "figures": {name: row[column] for name, column in FIGURES.items()},
        }
        if shown["figures"]["conditions"] is None:
            shown["figures"] = None
        return {name: value for name, value in shown.items() if name in self.fields}

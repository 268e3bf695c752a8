"""Runs across comparisons, as the API shows them."""

from __future__ import annotations

from rest_framework import serializers

from webapp.comparisons.models import Conditions, Figures, Run
from webapp.comparisons.serializers import SERVERS_ONLY, Named
from webapp.core.api import Output
from webapp.jobs.models import JobState


class FiguresOut(Output):
    device = serializers.CharField(source="conditions.device")
    conditions = serializers.UUIDField(source="conditions_id", help_text="runs that share them can be compared")

    class Meta:
        model = Figures
        fields = (
            "conditions", "device", "versions", "is_mixed", "sample_count", "noisy_count", "exactness", "speedup",
            "speedup_low", "speedup_high", "tokens_per_s", "mean_acceptance_length", "draft_acceptance_rate",
            "draft_share", "verify_share", "draft_passes", "tokens_per_s_device", "tokens_per_s_user", "goodput",
            "queued_p95", "ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95", "gap_p95", "e2e_p95",
        )  # fmt: skip


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


class ConditionsOut(Output):
    pair = Named(allow_null=True, help_text=SERVERS_ONLY)
    dataset = Named()

    class Meta:
        model = Conditions
        fields = (
            "id",
            "created",
            "pair",
            "dataset",
            "split",
            "limit",
            "sampling",
            "concurrency",
            "rate",
            "recorded",
            "device",
        )

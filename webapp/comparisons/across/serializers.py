"""Runs across comparisons, as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from webapp.accounts.serializers import Name
from webapp.comparisons.models import Conditions, Figures, Run, SavedView
from webapp.comparisons.serializers import SERVERS_ONLY, Named
from webapp.core.api import Input, Output
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


class GroupOut(serializers.Serializer[Any]):
    conditions = ConditionsOut()
    count = serializers.IntegerField()
    sentence = serializers.CharField()


class AxisOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()


class PointOut(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field is none of the serializer's attributes
    strategy = serializers.CharField()
    comparison = serializers.CharField()
    is_ranked = serializers.BooleanField(help_text="false for bounds, peers and what was noisy, mixed or diverged")
    is_noisy = serializers.BooleanField()
    is_newest = serializers.BooleanField(help_text="the latest measurement of its strategy, the one that is judged")
    is_on_line = serializers.BooleanField(help_text="nothing ranked is both cheaper to draft and faster")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    values = serializers.DictField(child=serializers.FloatField(allow_null=True))


class LineOut(serializers.Serializer[Any]):
    groups = GroupOut(many=True, help_text="runs of different groups cannot be compared fairly")
    sentence = serializers.CharField()
    axes = AxisOut(many=True)
    runs = PointOut(many=True, help_text="those of the group asked for with `conditions`, else of the largest")


class MomentOut(serializers.Serializer[Any]):
    run = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field is none of the serializer's attributes
    strategy = serializers.CharField()
    role = serializers.CharField()
    comparison = serializers.CharField()
    at = serializers.DateTimeField()
    speedup = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    tokens_per_s = serializers.FloatField()
    device = serializers.CharField()
    versions = serializers.CharField(allow_blank=True)
    is_noisy = serializers.BooleanField()


class ChangeOut(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=["device", "versions"])
    before = serializers.CharField()
    after = serializers.CharField()


class QuestionOut(serializers.Serializer[Any]):
    digest = serializers.CharField()
    sentence = serializers.CharField()
    count = serializers.IntegerField()


class HistoryOut(serializers.Serializer[Any]):
    questions = QuestionOut(many=True, help_text="each with a history of its own: the same prompts and sampling")
    sentence = serializers.CharField()
    points = MomentOut(many=True)
    changes = ChangeOut(many=True, help_text="where hardware or versions changed")


class NewView(Input):
    name = Name(max_length=200)
    query = serializers.CharField(
        max_length=2000, required=False, default="", allow_blank=True,
        help_text="what stands in the address of the page after the question mark",
    )  # fmt: skip


class ViewChanges(Input):
    name = Name(max_length=200, required=False)
    query = serializers.CharField(max_length=2000, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Give a name or a query.")
        return attrs


class ViewOut(Output):
    class Meta:
        model = SavedView
        fields = ("id", "name", "created", "binned", "query")

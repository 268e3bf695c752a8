"""Input and output of studies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from webapp.accounts.serializers import Name
from webapp.core.api import Input, Output, Visible
from webapp.jobs.models import USUAL_PRIORITY, Kind, Queue
from webapp.jobs.serializers import JobOut, JobRow, MeasuringQueue, Priority
from webapp.registry.models import Dataset, Pair
from webapp.registry.sampling import SamplingFields
from webapp.studies.models import KINDS, Study

TITLES = {Kind.ORACLE: "Oracle: how long drafts ought to be", Kind.PLAN: "Plan: which settings suit"}
KIND_CHOICES = [(kind.value, TITLES[kind]) for kind in KINDS]


class StudySampling(SamplingFields):
    """Sampling as in a comparison, less the fields that a study does not use."""


class NewStudy(Input):
    name = Name(max_length=200, required=False)
    kind = serializers.ChoiceField(choices=KIND_CHOICES)
    pair = Visible(queryset=Pair.objects.select_related("target", "draft"))
    dataset = Visible(queryset=Dataset.objects.all(), label="Prompts")
    split = serializers.CharField(max_length=20, required=False, default="", allow_blank=True)
    limit = serializers.IntegerField(
        min_value=1, max_value=100_000, required=False, allow_null=True, default=None,
        help_text="prompts to take; all if empty",
    )  # fmt: skip
    lookahead = serializers.IntegerField(
        min_value=1, max_value=64, required=False, default=5, label="Static lookahead",
        help_text="the one that an oracle is drawn beside",
    )  # fmt: skip
    sampling = StudySampling(required=False)
    queue = MeasuringQueue(required=False, default=Queue.CPU)
    priority = Priority(required=False, default=USUAL_PRIORITY)

    def validate_kind(self, value: str) -> Kind:
        return Kind(value)


class MadeOf(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()


class StudyRow(Output):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, source="job.kind")
    pair = MadeOf()
    dataset = MadeOf()
    job = JobRow()

    class Meta:
        model = Study
        fields = ("id", "name", "kind", "created", "binned", "pair", "dataset", "split", "limit", "job")


class StudyOut(StudyRow):
    job = JobOut()  # type: ignore[assignment]

    class Meta:
        model = Study
        fields = (*StudyRow.Meta.fields, "sampling", "lookahead")


class DocumentOut(serializers.Serializer[Any]):
    """A study's result. Further fields depend on `format`, which names content and version."""

    format = serializers.CharField(help_text="drafthouse.oracle/1 or drafthouse.plan/1")
    study = serializers.UUIDField()
    made = serializers.DateTimeField()
    pair = serializers.CharField()
    prompts = serializers.DictField()
    sampling = serializers.DictField()
    hardware = serializers.DictField()

"""Bodies and answers of studies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from decoding.public import published
from webapp.accounts.serializers import Name
from webapp.core.api import Input, Output
from webapp.jobs.kinds import Kind
from webapp.jobs.models import USUAL_PRIORITY, Queue
from webapp.jobs.serializers import JobOut, JobRow, MeasuringQueue, Priority
from webapp.registry.recipe_fields import DraftedPairField, LimitField, PromptsField, SamplingFields, SplitField
from webapp.studies.kinds import KINDS, ORACLE, PLAN, PROJECTION
from webapp.studies.models import Study

KIND_CHOICES = [
    (ORACLE.slug, "Oracle: how long drafts ought to be"),
    (PLAN.slug, "Plan: which settings suit"),
    (PROJECTION.slug, "Projection: what another machine would give"),
]
CARDS = [(name, card.name) for name, card in published().items()]


class StudySampling(SamplingFields):
    """Sampling as in a comparison, less the fields that a study does not use."""


class NewStudy(Input):
    name = Name(max_length=200, required=False)
    kind = serializers.ChoiceField(choices=KIND_CHOICES)
    pair = DraftedPairField(help_text="with a draft: a study records it along the target's text")
    dataset = PromptsField()
    split = SplitField()
    limit = LimitField()
    lookahead = serializers.IntegerField(
        min_value=1, max_value=64, required=False, default=5, label="Static lookahead",
        help_text="the one that an oracle is drawn beside",
    )  # fmt: skip
    card = serializers.ChoiceField(
        choices=CARDS, required=False, default=CARDS[0][0], label="Machine card",
        help_text="prices of passes on the machine that a projection is onto",
    )  # fmt: skip
    own_card = serializers.CharField(
        max_length=100_000, required=False, allow_blank=True, default="", label="Your own machine card",
        help_text="the JSON that ./drafthouse bench prices wrote; it takes the place of the card above",
        style={"as": "textarea"},
    )  # fmt: skip
    sampling = StudySampling(required=False)
    queue = MeasuringQueue(required=False, default=Queue.CPU)
    priority = Priority(required=False, default=USUAL_PRIORITY)

    def validate_kind(self, value: str) -> Kind:
        return KINDS[value]


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

    format = serializers.CharField(help_text="drafthouse.oracle/1, drafthouse.plan/1 or drafthouse.projection/1")
    study = serializers.UUIDField()
    made = serializers.DateTimeField()
    pair = serializers.CharField()
    prompts = serializers.DictField()
    sampling = serializers.DictField()
    hardware = serializers.DictField()

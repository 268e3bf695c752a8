"""Bodies and answers of studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers

from decoding.public import published
from webapp.accounts.serializers import Name
from webapp.core.api import Input, Named, Output, Visible
from webapp.jobs.kinds import Kind
from webapp.jobs.models import USUAL_PRIORITY, Queue
from webapp.jobs.serializers import JobOut, JobRow, MeasuringQueue, Priority
from webapp.registry.models import Pair
from webapp.registry.recipe_fields import (
    LimitField,
    PromptsField,
    RecordedPairField,
    SamplingFields,
    SplitField,
    ids,
)
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import KINDS, ORACLE, PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier, Study

KIND_CHOICES = [
    (ORACLE.slug, "Oracle: how long drafts ought to be"),
    (PLAN.slug, "Plan: which settings suit"),
    (PROJECTION.slug, "Projection: what another machine would give"),
    (PAPERS.slug, "Papers: the published figures of DISCO and SSD, beside yours"),
]
CARDS = [(name, card.name) for name, card in published().items()]


class StudySampling(SamplingFields):
    """Sampling as in a comparison, less the fields that a study does not use."""


class ClassifierField(Visible):
    """A classifier. A form offers those of the pair that it holds."""

    def offered(self, now: Callable[[str], str]) -> list[tuple[str, str]]:
        pairs = Pair.objects.visible_to(self.context["actor"]).filter(pk__in=ids(now("pair")))
        rows = [one for pair in pairs for one in classifying.usable_in_studies(pair)[: services.MOST_CLASSIFIERS]]
        return [("", "the pair's newest"), *((str(one.pk), f"{one.name}, {one.created:%d %b %H:%M}") for one in rows)]


class StudyPairField(RecordedPairField):
    """A form offers every pair for the kinds that need no draft."""

    def blocked(self, now: Callable[[str], str]) -> set[str]:
        kind = KINDS.get(now("kind"))
        return super().blocked(now) if kind is None or kind.needs_draft else set()


class NewStudy(Input):
    name = Name(max_length=200, required=False)
    kind = serializers.ChoiceField(choices=KIND_CHOICES)
    pair = StudyPairField(
        help_text="the study records what the draft proposes; without a draft, or with one that "
        "matches text (SLEM), it is about copies"
    )
    dataset = PromptsField()
    split = SplitField()
    limit = LimitField()
    lookahead = serializers.IntegerField(
        min_value=1, max_value=64, required=False, default=5, label="Static lookahead",
        help_text="the fixed lookahead that an oracle is compared with",
    )  # fmt: skip
    card = serializers.ChoiceField(
        choices=CARDS, required=False, default=CARDS[0][0], label="Machine card",
        help_text="the machine of a projection: what passes cost there",
    )  # fmt: skip
    own_card = serializers.CharField(
        max_length=100_000, required=False, allow_blank=True, default="", label="Your own machine card",
        help_text="the JSON that ./drafthouse bench prices wrote; it takes the place of the card above",
        style={"as": "textarea"},
    )  # fmt: skip
    loads = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=services.MOST_USERS), max_length=services.MOST_LOADS,
        required=False, default=list, label="Users at once",
        help_text="such as 1, 4, 16: the plan covers each of these numbers too; empty: only 1 user",
    )  # fmt: skip
    classifier = ClassifierField(
        queryset=Classifier.objects.all(), required=False, allow_null=True, default=None, label="Classifier",
        help_text="DISCO decides with it in a plan, a projection and the papers; empty: the pair's newest",
    )  # fmt: skip
    sampling = StudySampling(required=False)
    queue = MeasuringQueue(required=False, default=Queue.CPU)
    priority = Priority(required=False, default=USUAL_PRIORITY)

    def validate_kind(self, value: str) -> Kind:
        return KINDS[value]


class StudyRow(Output):
    kind = serializers.ChoiceField(choices=KIND_CHOICES, source="job.kind")
    pair = Named()
    dataset = Named()
    job = JobRow()

    class Meta:
        model = Study
        fields = ("id", "name", "kind", "created", "binned", "pair", "dataset", "split", "limit", "job")


class StudyOut(StudyRow):
    job = JobOut()  # type: ignore[assignment]
    loads = serializers.ListField(child=serializers.IntegerField(), help_text="users at once that a plan is made for")

    class Meta:
        model = Study
        fields = (*StudyRow.Meta.fields, "sampling", "lookahead", "loads")


class DocumentOut(serializers.Serializer[Any]):
    """A study's result. Further fields depend on `format`, which names content and version."""

    format = serializers.CharField(
        help_text="drafthouse.oracle/1, drafthouse.plan/1, drafthouse.projection/1 or drafthouse.papers/1"
    )
    study = serializers.UUIDField()
    made = serializers.DateTimeField()
    pair = serializers.CharField()
    prompts = serializers.DictField()
    sampling = serializers.DictField()
    hardware = serializers.DictField()
    draft_left_out = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="why it is about copies alone, though the pair has a draft; else empty",
    )
    classifier = Named(required=False, allow_null=True, help_text="DISCO's, of a plan, a projection or papers")


class FigureOut(serializers.Serializer[Any]):
    """A published figure, and the same figure of the study's pair."""

    slug = serializers.CharField()
    paper = serializers.DictField()
    number = serializers.CharField()
    title = serializers.CharField()
    x = serializers.DictField(help_text="the axis: label, format (number, share or times), log, names")
    y = serializers.DictField()
    series = serializers.ListField(
        child=serializers.DictField(),
        help_text="name, origin (published, measured, replayed, computed, simulated or theory), grade (of a published "
        "one: how it was read), source, is_line, and points: x (or the number of a name of the axis, from 0), y, "
        "label, low and high of the 95 % bootstrap interval over prompts",
    )
    unpublished = serializers.CharField()
    why = serializers.CharField(help_text="why ours differs")
    needs = serializers.CharField(help_text="what is missing, if the figure was not drawn")

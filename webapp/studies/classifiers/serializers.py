"""Bodies and answers about classifiers and their training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from decoding.public import DESIGNS, OURS, SOURCES
from webapp.accounts.serializers import Name
from webapp.core.api import Input, Output
from webapp.jobs.models import USUAL_PRIORITY, Queue
from webapp.jobs.serializers import MeasuringQueue, Priority
from webapp.registry.recipe_fields import LimitField, PairField, PromptsField, RecordedPairField, SamplingFields
from webapp.registry.serializers import COMMON, Uploaded
from webapp.studies.models import Classifier
from webapp.uploads.models import Upload, UploadedFile


def classifier_uploads(rows: QuerySet[Upload]) -> QuerySet[Upload]:
    both = rows.filter(files__path__endswith=".json").filter(files__path__endswith=".safetensors")
    models = UploadedFile.objects.filter(path__endswith="config.json").values("upload")
    return both.exclude(pk__in=models).exclude(pk__in=Classifier.objects.values("upload"))


class TrainedPairField(RecordedPairField):
    """A form offers every pair for the design that learns from copies."""

    def blocked(self, now: Callable[[str], str]) -> set[str]:
        return set() if now("design") == SOURCES else super().blocked(now)


class NewClassifier(Input):
    name = Name(max_length=200)
    pair = PairField(help_text="the pair that it was trained for")
    upload = Uploaded(classifier_uploads)


class ToBeTrained(Input):
    name = Name(max_length=200)
    pair = TrainedPairField(
        help_text="the classifier learns which tokens of this pair's draft the target accepts; without a draft, or "
        "with one that matches text (SLEM), choose the design sources, which learns from copied tokens"
    )
    dataset = PromptsField()


class NewTraining(ToBeTrained, SamplingFields):
    """A classifier is for texts that are chosen as those it learnt from."""

    limit = LimitField(help_text="from each split; empty: all")
    design = serializers.ChoiceField(
        choices=list(DESIGNS),
        required=False,
        default=OURS,
        help_text=". ".join(f"{name}: {words}" for name, words in DESIGNS.items()),
    )
    queue = MeasuringQueue(required=False, default=Queue.CPU)
    priority = Priority(required=False, default=USUAL_PRIORITY)


class ClassifierFileOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="bytes")


class ClassifierOut(Output):
    class Meta:
        model = Classifier
        fields = (*COMMON, "pair", "metrics")


class ClassifierWithCard(ClassifierOut):
    card = serializers.DictField(help_text="what training wrote: data, thresholds, curves, costs, predicted speed-ups")

    files = ClassifierFileOut(many=True, source="upload.files", help_text="each at `files/{name}/`")

    class Meta:
        model = Classifier
        fields = (*ClassifierOut.Meta.fields, "card", "files")

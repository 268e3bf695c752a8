"""Studies of a pair, and classifiers trained for it."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from decoding.public import OURS, SOURCES
from webapp.core.models import Noun
from webapp.entries.models import Entry
from webapp.jobs.models import Job
from webapp.registry.models import Dataset, Pair, Prompt
from webapp.registry.recipes import RecipeColumns
from webapp.uploads.models import Upload


class Study(RecipeColumns, Entry):
    """An analysis of a pair on prompts: how long drafts ought to be (oracle), which settings suit (plan), whether
    what another machine would give (projection), or the figures of papers."""

    address = "studies"

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="studies")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    split = models.CharField(max_length=20, blank=True)
    sampling = models.JSONField()
    limit = models.PositiveIntegerField()  # number of prompts, after the split was taken
    lookahead = models.PositiveSmallIntegerField(default=5)  # the static one that an oracle is compared with
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="study")
    document = models.JSONField(null=True)  # the result; its `format` names content and version
    parts = models.JSONField(default=dict)  # evidence and figures by name, so that another attempt goes on with them

    class Meta:
        verbose_name = "study"
        indexes = [models.Index(fields=["team", "-created"], name="studies_by_team")]
        constraints = [
            models.CheckConstraint(condition=Q(limit__gte=1), name="study_has_prompts"),
            models.CheckConstraint(condition=Q(lookahead__range=(1, 64)), name="study_lookahead_is_bounded"),
        ]

    @property
    def kind(self) -> str:
        return self.job.kind

    @property
    def loads(self) -> list[int]:
        """Numbers of users that a plan is made for, besides one."""
        return list(self.job.arguments.get("loads", []))

    @property
    def asked_classifier(self) -> str:
        """Id of the classifier that whoever launched it chose; empty: the pair's newest."""
        return str(self.job.arguments.get("classifier", ""))

    @property
    def prompt_count(self) -> int:
        """Number of prompts that it takes of its set: the first turns among so many rows."""
        return sum(not follows for follows in self.prompts_of(self.dataset).values_list("chat__follows", flat=True))

    def found(self, name: str) -> Any:
        return (self.document or {}).get(name)


class Classifier(Entry):
    """A trained stop rule for one pair: DISCO's."""

    address = "classifiers"

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="classifiers")
    upload = models.ForeignKey(Upload, on_delete=models.PROTECT, related_name="+")
    metrics = models.JSONField(default=dict)
    card = models.JSONField(default=dict)  # what training wrote beside the weights: data, curves, costs, thresholds

    class Meta:
        db_table = "registry_classifier"  # the app that it was in before
        indexes = [models.Index(fields=["team", "-created"], name="classifiers_by_team")]

    @property
    def knows_copies(self) -> bool:
        """Whether it has learned from copied tokens too."""
        return bool(self.card.get("design") == SOURCES)


class Training(Noun):
    """Recipe of a training job, and the classifier once it is made."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="training")
    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="+")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    limit = models.PositiveIntegerField(null=True)  # prompts of each split; all if none
    sampling = models.JSONField()
    classifier = models.OneToOneField(Classifier, null=True, on_delete=models.SET_NULL, related_name="training")
    design = models.CharField(max_length=20, default=OURS)
    start = models.ForeignKey(Classifier, null=True, on_delete=models.SET_NULL, related_name="+")  # begins from it

    class Meta:
        db_table = "registry_training"

    @property
    def prompts(self) -> list[Prompt]:
        """The first `limit` prompts of each split: training needs all splits."""
        return [
            prompt for split in self.dataset.splits for prompt in self.dataset.prompts.filter(split=split)[: self.limit]
        ]

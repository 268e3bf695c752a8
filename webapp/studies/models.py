"""Studies as data: what drafts would have done along the target's text, computed by a job."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from webapp.jobs.models import Job, Kind
from webapp.registry.models import Dataset, Entry, Pair, Prompt

KINDS = (Kind.ORACLE, Kind.PLAN)


class Study(Entry):
    """One study. Its job's kind is the question: how long should drafts be (oracle), or which settings suit (plan)."""

    pair = models.ForeignKey(Pair, on_delete=models.PROTECT, related_name="studies")
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="studies")
    split = models.CharField(max_length=20, blank=True)
    sampling = models.JSONField()
    limit = models.PositiveIntegerField()  # number of prompts, after the split was taken
    lookahead = models.PositiveSmallIntegerField(default=5)  # the static one that an oracle is compared with
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="study")
    document = models.JSONField(null=True)  # the result; its `format` names content and version

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
    def prompts(self) -> models.QuerySet[Prompt]:
        chosen = self.dataset.prompts.filter(split=self.split) if self.split else self.dataset.prompts.all()
        return chosen.order_by("number")[: self.limit]

    def found(self, name: str) -> Any:
        return (self.document or {}).get(name)

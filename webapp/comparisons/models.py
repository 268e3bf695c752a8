"""Comparisons: one job each. A run is one strategy in it at one load; a sample is one prompt decoded once."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Prefetch, Q
from django.utils import timezone

from decoding.public import MOST_USERS, ONE, RATES, STRATEGIES, Choice, Load
from webapp.accounts.models import Owned, Team
from webapp.comparisons.packing import unpack
from webapp.core.models import Noun
from webapp.entries.models import Entry
from webapp.jobs.models import Job
from webapp.registry.models import Dataset, Endpoint, Pair, Prompt
from webapp.registry.recipes import RecipeColumns

SERVERS_ALONE = "servers alone"  # in place of a pair


class Comparison(RecipeColumns, Entry):
    address = "comparisons"

    pair = models.ForeignKey(
        Pair, null=True, on_delete=models.PROTECT, related_name="comparisons"
    )  # null: servers run alone
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="comparisons")
    split = models.CharField(max_length=20, blank=True)
    sampling = models.JSONField()
    limit = models.PositiveIntegerField()  # number of prompts, after the split was taken
    repeats = models.PositiveSmallIntegerField(default=1)
    slo = models.JSONField(default=dict)  # what each request is promised: ttft_ms, tpot_ms
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="comparison")
    hardware = models.JSONField(default=dict)  # the worker's hardware and versions when the job began
    prices = models.JSONField(default=dict)  # of its classifiers, by their ids, as its first worker weighed them
    summed = models.DateTimeField(null=True, editable=False)  # when the job ended that the figures were made after
    verdict = models.TextField(blank=True, editable=False)  # of its report, as soon as it is summed up
    doubt = models.TextField(blank=True, editable=False)
    notes = models.TextField(blank=True)
    cloned_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="clones")

    class Meta:
        indexes = [
            models.Index(fields=["team", "-created"], name="comparisons_by_team"),
            models.Index(fields=["team"], name="comparisons_in_bin", condition=Q(binned__isnull=False)),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(limit__gte=1), name="comparison_has_prompts"),
            models.CheckConstraint(condition=Q(repeats__range=(1, 100)), name="comparison_repeats_are_bounded"),
        ]

    @property
    def tag_names(self) -> list[str]:
        """Names of its tags, which lists have read already (`in_rows`)."""
        return [tag.name for tag in (self.tagged if hasattr(self, "tagged") else self.tags.all())]

    def discard(self) -> None:
        """Delete its traces first: they are most of it, and nothing points at them."""
        TraceChunk.objects.filter(sample__run__comparison=self).delete()
        self.delete()


UNLISTED = (
    "team", "created_by", "frozen", "sampling", "slo", "hardware", "prices", "summed", "notes", "cloned_from",
    "job__team", "job__created_by", "job__page", "job__arguments", "job__at", "job__setbacks", "job__not_before",
    "job__lease_until", "job__refusals", "job__version", "job__device_count",
)  # fmt: skip


def in_rows(rows: models.QuerySet[Comparison]) -> models.QuerySet[Comparison]:
    """Read what lists show of each comparison, without the long columns, which they do not. What many share is read
    once."""
    pairs = Pair.objects.select_related("target", "draft").only("name", "created", "target__name", "draft__name")
    shared = (Prefetch("pair", pairs), Prefetch("dataset", Dataset.objects.only("name", "created")))
    tags = Prefetch("tags", to_attr="tagged")
    return rows.select_related("job").prefetch_related(*shared, tags).defer(*UNLISTED)


class Tag(models.Model):
    """A word by which people find comparisons again."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40, db_index=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["comparison", "name"], name="one_tag_per_name")]

    def __str__(self) -> str:
        return self.name


class LoadColumns(models.Model):
    """Columns of a load. It has a concurrency or a rate, and the other is null, as in reports."""

    concurrency = models.PositiveSmallIntegerField(null=True, default=1)
    rate = models.FloatField(null=True)  # requests per second
    recorded = models.BooleanField(default=False)  # requests arrive as in their log, which the rate stretches

    class Meta:
        abstract = True

    @property
    def load(self) -> Load:
        return Load(rate=self.rate, recorded=self.recorded) if self.rate else Load(self.concurrency or 1)

    @staticmethod
    def columns_of(load: Load) -> dict[str, Any]:
        users = None if load.is_open else load.concurrency
        return {"concurrency": users, "rate": load.rate or None, "recorded": load.recorded}


class RunQuerySet(Owned):
    def kept(self) -> RunQuerySet:
        """Leave out runs of comparisons in the bin. These are few, so no other comparison is read."""
        return self.exclude(comparison__in=Comparison.objects.binned())


class Run(LoadColumns, Noun):
    """A strategy at one load. Its team and the time of its launch are its comparison's, so that lists need no join."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="runs")
    number = models.PositiveSmallIntegerField()
    strategy = models.CharField(max_length=40)
    params = models.JSONField(default=dict)
    label = models.CharField(max_length=200)
    endpoint = models.ForeignKey(
        Endpoint, null=True, on_delete=models.PROTECT, related_name="runs"
    )  # the server that decodes; null: our engine

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        indexes = [
            models.Index(fields=["comparison", "strategy"], name="runs_by_strategy"),
            models.Index(fields=["team", "-created", "number", "id", "comparison"], name="runs_by_team"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "number"], name="one_run_per_number"),
            models.UniqueConstraint(fields=["comparison", "label"], name="one_run_per_strategy_and_params"),
            models.CheckConstraint(
                condition=Q(concurrency__isnull=False, concurrency__range=(1, MOST_USERS), rate=None)
                | Q(concurrency=None, rate__isnull=False, rate__range=RATES),
                name="run_has_one_load",
            ),
        ]

    @property
    def choice(self) -> Choice:
        return Choice(self.strategy, self.params, self.load, self.label)

    @property
    def title(self) -> str:
        return STRATEGIES[self.strategy].title


class Conditions(LoadColumns, Noun):
    """Conditions under which speed-ups of two comparisons are comparable: models, prompts, sampling, load, device."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    pair = models.ForeignKey(Pair, null=True, on_delete=models.CASCADE, related_name="+")  # null: servers run alone
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    split = models.CharField(max_length=20, blank=True)
    limit = models.PositiveIntegerField()
    sampling = models.JSONField()
    device = models.CharField(max_length=400)

    objects = Owned.as_manager()

    class Meta:
        verbose_name = verbose_name_plural = "conditions"
        constraints = [models.UniqueConstraint(fields=["team", "digest"], name="conditions_once_per_team")]

    def __str__(self) -> str:
        drawn = f"temperature {self.sampling['temperature']:g}" if self.sampling["temperature"] else "greedy"
        split = f" ({self.split})" if self.split else ""
        load = "" if self.load == ONE else f" · {self.load}"
        return (
            f"{self.pair or SERVERS_ALONE} · {self.limit} prompts of {self.dataset.name}{split} · {drawn}, at most "
            f"{self.sampling['max_new_tokens']} tokens{load} · {self.device}"
        )


class Exactness(models.TextChoices):
    """The worst finding of the audit of a run's samples."""

    IDENTICAL = "identical"
    TIE = "tie"
    DIVERGENT = "divergent"
    NOT_COMPARED = "not_compared"


class Figures(models.Model):
    """Results of a run of an ended comparison, by decoding.measure.summary, in columns so that 10,000 can be sorted."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="figures")
    conditions = models.ForeignKey(Conditions, on_delete=models.CASCADE, related_name="figures")
    versions = models.CharField(max_length=200, blank=True)
    is_mixed = models.BooleanField()  # its samples come from several devices
    sample_count = models.PositiveIntegerField()
    noisy_count = models.PositiveIntegerField()
    exactness = models.CharField(max_length=12, choices=Exactness.choices, blank=True)
    tokens_per_s = models.FloatField()
    speedup = models.FloatField(null=True)
    speedup_low = models.FloatField(null=True)
    speedup_high = models.FloatField(null=True)
    mean_acceptance_length = models.FloatField(null=True)  # null: a server does not say
    draft_acceptance_rate = models.FloatField(null=True)
    draft_share = models.FloatField(null=True)
    verify_share = models.FloatField(null=True)
    draft_passes = models.FloatField(null=True)  # per generated token
    tokens_per_s_device = models.FloatField(null=True)
    tokens_per_s_user = models.FloatField(null=True)
    goodput = models.FloatField(null=True)  # share of the requests; null: nothing was promised
    queued_p95 = models.FloatField(null=True)  # ms, here and below
    ttft_p50 = models.FloatField(null=True)
    ttft_p95 = models.FloatField(null=True)
    tpot_p50 = models.FloatField(null=True)
    tpot_p95 = models.FloatField(null=True)
    gap_p95 = models.FloatField(null=True)
    e2e_p95 = models.FloatField(null=True)


class SampleQuerySet(Owned):
    def finished(self) -> SampleQuerySet:
        return self.exclude(finished=None)


class Sample(Noun):
    """One prompt decoded once. The row exists from the start of decoding; after a crash the worker begins it anew."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)  # its run's
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="samples")
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="+")
    repeat = models.PositiveSmallIntegerField()
    attempt = models.PositiveSmallIntegerField()
    worker = models.CharField(max_length=120)
    device = models.CharField(max_length=200)
    noise = models.CharField(max_length=200, blank=True)  # reason to doubt its times, as a sentence
    finished = models.DateTimeField(null=True)
    last_seq = models.PositiveIntegerField(null=True)  # number of events in its trace, once it is finished
    new_tokens = models.PositiveIntegerField(null=True)
    tokens_per_s = models.FloatField(null=True)
    numbers = models.JSONField(default=dict)  # decoding.measure.sample.SampleResult

    objects = SampleQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["team", "-created", "id"], name="samples_by_team")]
        constraints = [
            models.UniqueConstraint(fields=["run", "prompt", "repeat"], name="one_sample_per_run_prompt_and_repeat"),
            models.CheckConstraint(
                condition=Q(finished=None, last_seq=None, tokens_per_s=None, new_tokens=None)
                | Q(finished__isnull=False, last_seq__isnull=False, tokens_per_s__gte=0, new_tokens__gte=0),
                name="sample_has_numbers_exactly_when_finished",
            ),
        ]


class TraceChunk(models.Model):
    """Some consecutive events of one sample. The trace is the truth; a socket only says that it grew. During decoding
    chunks are many and small; when the sample has ended they are few and packed."""

    sample = models.ForeignKey(Sample, on_delete=models.CASCADE, related_name="chunks")
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    events = models.JSONField(default=list)
    words = models.JSONField(default=dict)  # token id → its text, for tokens that no earlier chunk of the sample had
    packed = models.BinaryField(null=True)  # events and words, by packing.pack
    written = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["first_seq"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "first_seq"], name="one_chunk_per_first_seq"),
            models.CheckConstraint(
                condition=Q(first_seq__gte=1, last_seq__gte=F("first_seq")), name="chunk_is_ordered"
            ),
        ]

    @property
    def content(self) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Events and words, unpacked if need be."""
        return (self.events, self.words) if self.packed is None else unpack(self.packed)

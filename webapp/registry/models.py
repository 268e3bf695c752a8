"""Models, pairs and prompt sets: the parts that comparisons are made of. Their content never changes."""

from __future__ import annotations

from typing import Any

from django.db import models, transaction
from django.db.models import Q, QuerySet

from decoding.public import DIALECTS, METHODS, USUAL_DEADLINE_S, EndpointSpec
from webapp.core.models import Noun
from webapp.entries.models import Entry, Kept
from webapp.jobs.models import Job
from webapp.uploads.models import Upload


class Readiness(models.TextChoices):
    CHECKING = "checking"  # no worker has looked at it yet
    READY = "ready"
    REFUSED = "refused"


class LanguageModel(Entry):
    address = "models"

    class Origin(models.TextChoices):
        UPLOAD = "upload"
        HUB = "hub"
        PATH = "path"

    source = models.CharField(max_length=10, choices=Origin.choices)
    upload = models.ForeignKey(Upload, null=True, on_delete=models.PROTECT, related_name="+")
    location = models.CharField(max_length=300, blank=True)  # the hub's id, or a path on the worker
    revision = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=10, choices=Readiness.choices, default=Readiness.CHECKING)
    reason = models.TextField(blank=True)
    facts = models.JSONField(default=dict)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = "model"
        indexes = [models.Index(fields=["team", "-created"], name="models_by_team")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=Readiness.values), name="model_state_is_known"),
            models.CheckConstraint(
                condition=Q(source="upload", upload__isnull=False, location="")
                | Q(source__in=["hub", "path"], upload=None) & ~Q(location=""),
                name="model_has_exactly_one_source",
            ),
        ]

    def fact(self, name: str) -> Any:
        return self.facts.get(name)


class Pair(Entry):
    address = "pairs"

    target = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="pairs_as_target")
    draft = models.ForeignKey(
        LanguageModel, null=True, on_delete=models.PROTECT, related_name="pairs_as_draft"
    )  # null: a target alone
    other_tokenizer = models.CharField(max_length=4, default="auto")  # how a draft with another tokenizer drafts
    findings = models.JSONField(default=list)  # findings about the models together, as sentences

    class Meta:
        indexes = [models.Index(fields=["team", "-created"], name="pairs_by_team")]
        constraints = [
            models.CheckConstraint(condition=Q(other_tokenizer__in=METHODS), name="pair_other_tokenizer_is_known")
        ]

    @property
    def by_role(self) -> dict[str, LanguageModel]:
        """Return its models by role."""
        return {"target": self.target, "draft": self.draft} if self.draft else {"target": self.target}

    @property
    def models(self) -> str:
        """Names of its models, which tell pairs of one name apart."""
        return " / ".join(str(model) for model in self.by_role.values())

    @property
    def matches_text(self) -> bool:
        """Whether the draft writes text that the target's tokenizer cuts anew, as far as that is known here."""
        usual = next((found["method"] for found in self.findings if "method" in found), "")
        return bool(usual) and (usual if self.other_tokenizer == "auto" else self.other_tokenizer) == "slem"

    @property
    def lacks(self) -> str:
        """Part that it lacks that some strategies need: "draft", or "scores" of the target's tokens; empty: nothing."""
        return "draft" if self.is_undrafted else "scores" if self.matches_text else ""

    @property
    def weight_bytes(self) -> int | None:
        """Bytes of the weights of its models; None while one is being checked."""
        weights = [model.facts.get("weight_bytes") for model in self.by_role.values()]
        return sum(weights) if all(weights) else None

    @property
    def vocab_size(self) -> int:
        """Tokens that all its models know; 0 while one is being checked."""
        return min(model.facts.get("vocab_size") or 0 for model in self.by_role.values())

    @property
    def is_undrafted(self) -> bool:
        """Whether it is a target without a draft."""
        return self.draft_id is None


class Endpoint(Entry):
    """A server that comparisons may ask. Its address never changes, so nobody can have its key sent elsewhere."""

    address = "endpoints"

    url = models.CharField(max_length=300)
    dialect = models.CharField(max_length=40)
    model = models.CharField(max_length=200, blank=True)  # its name on the server; empty: the one that it lists
    target = models.ForeignKey(LanguageModel, null=True, on_delete=models.PROTECT, related_name="endpoints")
    deadline_s = models.FloatField(default=USUAL_DEADLINE_S)  # for one request
    dtype = models.CharField(max_length=20, blank=True, default="")  # EndpointSpec.dtype
    sealed_key = models.TextField(blank=True, editable=False)  # core.secrets
    key_set = models.DateTimeField(null=True, editable=False)
    state = models.CharField(max_length=10, choices=Readiness.choices, default=Readiness.CHECKING)
    reason = models.TextField(blank=True)
    findings = models.JSONField(default=list)  # of the last check, as sentences
    serves = models.CharField(max_length=500, blank=True, default="", editable=False)  # model that the check found
    checked = models.DateTimeField(null=True, editable=False)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = "server"
        indexes = [models.Index(fields=["team", "-created"], name="endpoints_by_team")]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=Readiness.values), name="endpoint_state_is_known"),
            models.UniqueConstraint(fields=["team", "name"], condition=Q(binned=None), name="one_endpoint_per_name"),
        ]

    @property
    def has_key(self) -> bool:
        return bool(self.sealed_key)

    @property
    def dialect_title(self) -> str:
        return DIALECTS[self.dialect].title

    @property
    def spec(self) -> EndpointSpec:
        """Return what a client needs to ask it. The key is only named."""
        return EndpointSpec(
            name=self.name,
            address=self.url,
            dialect=self.dialect,
            model=self.model,
            key=str(self.pk) if self.has_key else "",
            deadline_s=self.deadline_s,
            dtype=self.dtype,
        )


class WholeSets(models.Manager.from_queryset(Kept)):  # type: ignore[misc]  # a class made by a call
    """Prompt sets, without those whose prompts are being added."""

    def get_queryset(self) -> QuerySet[Any]:
        return super().get_queryset().filter(is_whole=True)


class Dataset(Entry):
    address = "datasets"

    upload = models.ForeignKey(Upload, on_delete=models.PROTECT, related_name="+")
    file_name = models.CharField(max_length=255)
    form = models.CharField(max_length=40, blank=True)
    template = models.TextField(blank=True)
    mapping = models.JSONField(default=dict)
    prompt_count = models.PositiveIntegerField()
    is_whole = models.BooleanField(default=True, editable=False)  # false: its prompts are being added, nobody sees it
    splits = models.JSONField(default=dict)  # split → how many prompts
    categories = models.JSONField(default=dict)

    objects = WholeSets()  # type: ignore[misc]  # the base class has another manager
    everything = models.Manager()

    class Meta:
        verbose_name = "prompt set"
        indexes = [models.Index(fields=["team", "-created"], name="datasets_by_team")]

    def discard(self) -> None:
        """Delete its prompts first, in one statement: Django would load them all."""
        with transaction.atomic():
            prompts = Prompt.objects.filter(dataset=self)
            prompts._raw_delete(prompts.db)
            self.delete()


class Prompt(models.Model):
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="prompts")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200)  # its id in the file
    text = models.TextField()
    category = models.CharField(max_length=200, blank=True)
    split = models.CharField(max_length=20, blank=True)
    reference = models.TextField(blank=True)
    chat = models.JSONField(null=True)  # decoding.prompts.chat.messages.Chat; null: plain text
    at = models.FloatField(null=True)  # seconds since 1970 when it was sent, by a log
    max_tokens = models.PositiveIntegerField(null=True)  # of the answer, by a log

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["dataset", "number"], name="one_prompt_per_number")]

    @property
    def turn(self) -> int:
        return self.chat["turn"] if self.chat else 1

    @property
    def follows(self) -> str:
        return self.chat["follows"] if self.chat else ""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of its turn; of a plain text, none."""
        return self.chat["messages"] if self.chat else []

    @property
    def tools(self) -> list[dict[str, Any]]:
        return self.chat["tools"] if self.chat else []


class TokenLengths(Noun):
    """Token counts of a set's prompts for a pair's tokenizer."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="token_lengths")
    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    document = models.JSONField(null=True)  # registry.lengths.document_of; null until it is counted

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "pair"], name="one_count_per_set_and_pair")]

    @property
    def is_given_up(self) -> bool:
        return self.document is None and (self.job is None or self.job.can_retry)

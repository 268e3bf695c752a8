"""Bodies and answers of the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.validators import RegexValidator
from django.db.models import Count, QuerySet
from rest_framework import serializers

from decoding.public import FORMS, METHODS
from webapp.accounts.serializers import Name
from webapp.core import hub
from webapp.core.api import Input, Output, Visible
from webapp.registry.models import Dataset, LanguageModel, Pair, Prompt, TokenLengths
from webapp.registry.recipe_fields import PairField
from webapp.uploads.models import Upload

HUB_ID = RegexValidator(
    rf"^{hub.ID}\Z",
    "This is not an id of the Hugging Face hub. An id is owner/name or owner/name@revision, without https:// and host.",
)
REVISION = RegexValidator(rf"^{hub.REVISION}\Z", "This is not the name of a branch, tag or commit.")
PROMPT_FILE = r"\.(txt|md|jsonl|ndjson|json|csv|tsv)$"
MOST_UPLOADS = 200  # offered in a form
FORM_CHOICES = [("", "recognised by its columns")] + [(form.slug, form.title) for form in FORMS.values()]


# Input ---------------------------------------------------------------------------------------------------------------


class Uploaded(Visible):
    """An upload, which has no bin. A form offers only those that can become what it makes and have not yet."""

    def __init__(self, fits: Callable[[QuerySet[Upload]], QuerySet[Upload]], **options: Any) -> None:
        super().__init__(queryset=Upload.objects.all(), **options)
        self.fits = fits

    def get_queryset(self) -> Any:
        actor = self.context.get("actor")
        return Upload.objects.visible_to(actor).order_by("-created") if actor else Upload.objects.none()

    def offered(self, now: Callable[[str], str]) -> list[tuple[str, str]]:
        rows = self.fits(self.get_queryset().filter(state=Upload.State.COMPLETE)).distinct()[:MOST_UPLOADS]
        return [(str(each.pk), f"{each.name}, {each.created:%d %b %H:%M}") for each in rows]


def model_uploads(rows: QuerySet[Upload]) -> QuerySet[Upload]:
    used = LanguageModel.objects.exclude(upload=None).values("upload")
    folders = rows.filter(files__path__endswith="config.json").filter(files__path__endswith=".safetensors")
    return (folders | rows.filter(files__path__iendswith=".gguf")).exclude(pk__in=used)


def prompt_uploads(rows: QuerySet[Upload]) -> QuerySet[Upload]:
    single = rows.annotate(file_count=Count("files")).filter(file_count=1)
    return single.filter(files__path__iregex=PROMPT_FILE).exclude(pk__in=Dataset.objects.values("upload"))


class NewModel(Input):
    """A model from one of three sources: an upload, an id of the hub with its revision, or a path on the worker."""

    name = Name(max_length=200, required=False, help_text="a Hugging Face id is its own name unless you give another")
    upload = Uploaded(model_uploads, required=False)
    hub_id = serializers.CharField(
        max_length=300,
        required=False,
        validators=[HUB_ID],
        label="Hugging Face id",
        help_text="owner/name or owner/name@revision; a worker fetches it",
    )
    revision = serializers.CharField(max_length=100, required=False, default=hub.MAIN, validators=[REVISION])
    path = serializers.CharField(
        max_length=300,
        required=False,
        label="Path on the worker",
        help_text="of a folder or a GGUF file, below a folder that the operator allows with DRAFTHOUSE_MODEL_ROOTS",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("upload", "hub_id", "path") if attrs.get(name)]
        if len(given) != 1:
            one = "Choose files, or give a Hugging Face id or a path: one of upload, hub_id and path."
            raise serializers.ValidationError(f"Give only one of {' and '.join(given)}." if given else one)
        if (model := hub.parse(attrs.get("hub_id", ""))) and model.revision:
            if attrs["revision"] not in (hub.MAIN, model.revision):
                raise serializers.ValidationError({"revision": "The id names another revision; give only one."})
            attrs |= {"hub_id": model.hub_id, "revision": model.revision}
        if not attrs.setdefault("name", attrs.get("hub_id", "")):
            raise serializers.ValidationError({"name": "Give the model a name."})
        return attrs


class ModelField(Visible):
    """A model of the team, or an id of the hub, whose model is added with the pair."""

    typed = "or a Hugging Face id: owner/name"
    default_error_messages = {
        "unknown": "{name:.40} is no model of the team, and no id of the Hugging Face hub, such as owner/name or "
        "owner/name@revision."
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=LanguageModel.objects.all(), **options)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return super().to_internal_value(data)
        except serializers.ValidationError as error:
            if error.get_codes() == ["unknown"] and (model := hub.parse(data)):
                return model
            raise


class DraftField(ModelField):
    """Draft of a pair, or none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, default=None, **options)


class NewPair(Input):
    name = Name(max_length=200)
    target = ModelField(help_text="the model whose text you want; owner/name adds a model of the Hugging Face hub")
    draft = DraftField(help_text="the small model that proposes tokens; empty: the target runs alone")
    other_tokenizer = serializers.ChoiceField(
        choices=METHODS,
        default="auto",
        label="If the tokenizers differ",
        help_text="tli: the draft proposes only tokens that both models have; slem: it proposes any text, which the "
        "target's tokenizer splits again; auto: tli if both have enough tokens in common",
    )


class PairQuestion(Input):
    target = ModelField()
    draft = DraftField()


class Mapping(Input):
    id = serializers.CharField(max_length=100, required=False, allow_blank=True)
    category = serializers.CharField(max_length=100, required=False, allow_blank=True)
    split = serializers.CharField(max_length=100, required=False, allow_blank=True)
    reference = serializers.CharField(max_length=100, required=False, allow_blank=True)


class PromptFile(Input):
    """A prompt file: an upload, or its text pasted under a file name."""

    upload = Uploaded(prompt_uploads, required=False)
    text = serializers.CharField(
        max_length=4_000_000, required=False, trim_whitespace=False, style={"as": "textarea"}, label="Prompts",
        help_text="one prompt a line, or JSON lines, or a table with any delimiter",
    )  # fmt: skip
    file_name = serializers.RegexField(
        r"^[^/\\\x00]{1,200}\.(txt|md|jsonl|ndjson|json|csv|tsv)\Z", max_length=220, default="prompts.txt",
        label="File name", help_text="its ending sets the format, unless the content shows another one",
        error_messages={"invalid": "The ending must be .txt, .md, .jsonl, .ndjson, .json, .csv or .tsv."},
    )  # fmt: skip
    form = serializers.ChoiceField(
        choices=FORM_CHOICES, required=False, default="", help_text="the published data set that has the same columns"
    )
    template = serializers.CharField(
        max_length=10_000, required=False, default="", allow_blank=True, trim_whitespace=False,
        help_text="the text that the target continues, with {column} for a column; empty: the form's own",
    )  # fmt: skip
    mapping = Mapping(required=False, help_text="which columns hold id, category, split, reference")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("upload" in attrs) == bool(attrs.get("text")):
            raise serializers.ValidationError("Give either an upload or a text.")
        if attrs.get("mapping") and not attrs["template"]:
            raise serializers.ValidationError({"mapping": "A mapping needs a template; without one the form decides."})
        return attrs


class NewDataset(PromptFile):
    name = Name(max_length=200)


# Output --------------------------------------------------------------------------------------------------------------

COMMON = ("id", "name", "created", "frozen", "binned")


class ModelOut(Output):
    class Meta:
        model = LanguageModel
        fields = (*COMMON, "source", "location", "revision", "state", "reason", "facts", "job")


class ModelName(Output):
    class Meta:
        model = LanguageModel
        fields = ("id", "name", "state")


class FindingOut(serializers.Serializer[Any]):
    level = serializers.ChoiceField(choices=["fits", "remark"])
    topic = serializers.CharField()
    sentence = serializers.CharField()


class PairFindingOut(FindingOut):
    method = serializers.ChoiceField(
        choices=["tli", "slem"],
        required=False,
        help_text="if the tokenizers differ: what other_tokenizer=auto does with this draft",
    )


class PairOut(Output):
    target = ModelName()
    draft = ModelName(allow_null=True, help_text="null: a target alone")
    findings = PairFindingOut(many=True)

    class Meta:
        model = Pair
        fields = (*COMMON, "target", "draft", "other_tokenizer", "findings")


class PairAnswer(serializers.Serializer[Any]):
    findings = PairFindingOut(many=True)


class DatasetOut(Output):
    class Meta:
        model = Dataset
        fields = (*COMMON, "file_name", "form", "template", "mapping", "prompt_count", "splits", "categories")


class PromptOut(Output):
    id = serializers.CharField(source="name")
    turn = serializers.IntegerField(help_text="of its conversation; 1 for a prompt without one")
    follows = serializers.CharField(allow_blank=True, help_text="id of the prompt whose answer comes before this turn")
    messages = serializers.ListField(child=serializers.DictField(), help_text="of its turn; none for a plain text")
    tools = serializers.ListField(child=serializers.DictField())

    class Meta:
        model = Prompt
        fields = (
            "number", "id", "text", "category", "split", "reference", "turn", "follows", "messages", "tools", "at",
            "max_tokens",
        )  # fmt: skip


class PairChoice(Input):
    pair = PairField(help_text="whose tokenizer counts")


class OverOut(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    first = serializers.ListField(child=serializers.IntegerField(), help_text="numbers of the first such prompts")


class BarOut(serializers.Serializer[Any]):
    low = serializers.IntegerField()
    high = serializers.IntegerField(help_text="not within the bar itself")
    count = serializers.IntegerField()


class ContextsOut(serializers.Serializer[Any]):
    target = serializers.IntegerField(allow_null=True, help_text="tokens the model can hold; null where it is not said")
    draft = serializers.IntegerField(allow_null=True, help_text="null also where there is no draft")


class OversOut(serializers.Serializer[Any]):
    target = OverOut(help_text="prompts that leave it no room for a new token")
    draft = OverOut()


class LengthsOut(serializers.Serializer[Any]):
    prompt_count = serializers.IntegerField()
    total = serializers.IntegerField()
    shortest = serializers.IntegerField()
    median = serializers.IntegerField()
    longest = serializers.IntegerField()
    context = ContextsOut()  # type: ignore[assignment]  # a field is none of the serializer's attributes
    over = OversOut()
    histogram = BarOut(many=True)


class TokenLengthsOut(Output):
    document = LengthsOut(allow_null=True, help_text="null until a worker has counted")

    class Meta:
        model = TokenLengths
        fields = ("id", "created", "pair", "job", "document")


class PreviewPrompt(serializers.Serializer[Any]):
    id = serializers.CharField()
    text = serializers.CharField()
    category = serializers.CharField()
    split = serializers.CharField()
    reference = serializers.CharField()


class PreviewOut(serializers.Serializer[Any]):
    columns = serializers.ListField(child=serializers.CharField())
    kinds = serializers.DictField(
        child=serializers.CharField(), help_text="of each column: text, number, yes or no, list, empty"
    )
    guess = serializers.DictField(
        child=serializers.CharField(), help_text="columns that seem to hold text, id, category, split, reference"
    )
    template = serializers.CharField(help_text="what each row becomes: columns in braces")
    prompt_count = serializers.IntegerField(help_text="in the rows that were read")
    is_whole = serializers.BooleanField(help_text="false: only the first rows were read, up to 1,000 of 1 MiB")
    splits = serializers.DictField(child=serializers.IntegerField())
    categories = serializers.DictField(child=serializers.IntegerField())
    first = PreviewPrompt(many=True)

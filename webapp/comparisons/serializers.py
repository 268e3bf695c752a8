"""Bodies and answers of comparisons. Strategies and their parameters come from `decoding.strategies`."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from decoding.public import (
    FORMER,
    LONGEST_TEXT,
    MOST_USERS,
    RATES,
    STRATEGIES,
    BadStrategy,
    Param,
    current,
    meant,
    parse_choices,
)
from webapp.accounts.serializers import Name
from webapp.comparisons import specs
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.core.api import Input, Named, Output
from webapp.core.fields import Plain, Table
from webapp.jobs.models import USUAL_PRIORITY, Queue
from webapp.jobs.serializers import JobOut, JobRow, MeasuringQueue, Priority
from webapp.registry.recipe_fields import LimitField, PairField, PromptsField, SamplingFields, SplitField

MOST_PARAMS = max(len(spec.params) for spec in STRATEGIES.values())

# Input ---------------------------------------------------------------------------------------------------------------


class ParamsField(Table):
    """Parameters by name. /strategies/ lists them with their bounds."""

    child = Plain(max_length=LONGEST_TEXT)


@extend_schema_serializer(component_name="Strategy")
class StrategyIn(Input):
    strategy = serializers.ChoiceField(choices=[(slug, spec.title) for slug, spec in STRATEGIES.items()])
    params = ParamsField(max_length=MOST_PARAMS, required=False)

    takes_words = True  # the schema says so too

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and str(data.get("strategy")) in FORMER and isinstance(data.get("params", {}), dict):
            strategy, params = current(data["strategy"], data.get("params", {}))
            data = {**data, "strategy": strategy, "params": params}
        return super().to_internal_value(self._in_words(data) if isinstance(data, str) else data)

    def _in_words(self, text: str) -> dict[str, Any]:
        """Read a strategy in the spelling of the command line, such as `static:4`."""
        if text.partition(":")[0].strip() not in STRATEGIES.keys() | FORMER:
            raise serializers.ValidationError(self.no_object(text))
        try:
            choice, *more = parse_choices(text)
        except BadStrategy as error:
            raise serializers.ValidationError(str(error)) from None
        if more:
            raise serializers.ValidationError(f"This names {1 + len(more)} strategies; give each an entry of its own.")
        return {"strategy": choice.strategy, "params": dict(choice.params)}

    def no_object(self, data: Any) -> str:
        named = str(data).partition(":")[0]
        return (
            f"This is {json.dumps(data, ensure_ascii=False)[:40]}, but it must be a text, such as "
            f'"static:4", or an object, such as {{"strategy": "static", "params": {{"lookahead": 4}}}}. '
            f"There are {', '.join(STRATEGIES)}.{meant(named, STRATEGIES) if named not in STRATEGIES else ''}"
        )


class SamplingInput(SamplingFields):
    """Sampling, the same for every strategy of a comparison."""

    ignore_eos = serializers.BooleanField(required=False, default=False, help_text="continue after the end token")
    stop = serializers.ListField(
        child=serializers.CharField(max_length=200, trim_whitespace=False), max_length=16, required=False, default=list
    )


class NewComparison(Input):
    name = Name(max_length=200, required=False)
    pair = PairField(required=False, allow_null=True, default=None, help_text="empty: compare servers alone")
    dataset = PromptsField()
    split = SplitField()
    strategies = StrategyIn(many=True, allow_empty=False, max_length=specs.MOST_STRATEGIES)  # type: ignore[call-arg]
    sampling = SamplingInput(required=False)
    limit = LimitField()
    repeats = serializers.IntegerField(min_value=1, max_value=100, required=False, default=1)
    concurrency = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MOST_USERS), max_length=specs.MOST_LOADS,
        required=False, default=list, label="Users at once",
        help_text="such as 1, 4, 16; every strategy runs with each number; empty: 1",
    )  # fmt: skip
    rate = serializers.ListField(
        child=serializers.FloatField(min_value=RATES[0], max_value=RATES[1]), max_length=specs.MOST_LOADS,
        required=False, default=list, label="Requests per second",
        help_text="such as 2, 4; requests arrive at random times",
    )  # fmt: skip
    recorded = serializers.ListField(
        child=serializers.FloatField(min_value=1e-6, max_value=1e6), max_length=specs.MOST_LOADS,
        required=False, default=list, label="Speed of recorded arrivals",
        help_text="for a request log, such as 1, 2: as recorded, and twice as fast",
    )  # fmt: skip
    slo = serializers.CharField(
        max_length=60, required=False, default="", allow_blank=True, label="Objective",
        help_text="limits for each request, such as ttft=500ms,tpot=50ms; goodput counts requests within them",
    )  # fmt: skip
    queue = MeasuringQueue(required=False, default=Queue.CPU)
    priority = Priority(required=False, default=USUAL_PRIORITY)


class Changes(NewComparison):
    """The changes of a clone. Fields that are not given stay as they were."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            field.required = False
            field.default = serializers.empty
        return fields


class TagName(Name):
    """A tag of one to 40 characters without a comma, which separates tags."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if "," in text:
            raise serializers.ValidationError("A tag holds no comma: it separates tags.")
        return text


class Description(Input):
    """Name, notes and tags of a comparison. Those that are not given stay as they were."""

    name = Name(max_length=200, required=False)
    notes = serializers.CharField(
        max_length=10_000, required=False, allow_blank=True, trim_whitespace=True, style={"as": "textarea"}
    )
    tags = serializers.ListField(
        child=TagName(max_length=40), max_length=20, required=False, help_text="words, separated by commas"
    )


# Output --------------------------------------------------------------------------------------------------------------


class RunInside(Output):
    class Meta:
        model = Run
        fields = ("id", "number", "strategy", "params", "label", "concurrency", "rate", "recorded")


SERVERS_ONLY = "null: servers are compared alone"
FROM_REPORT = "from its report, once it has ended and the report is computed"


class ComparisonRow(Output):
    pair = Named(allow_null=True, help_text=SERVERS_ONLY)
    dataset = Named()
    job = JobRow()
    tags = serializers.ListField(child=serializers.CharField(), source="tag_names")
    verdict = serializers.CharField(help_text=FROM_REPORT)
    doubt = serializers.CharField(help_text=FROM_REPORT)

    class Meta:
        model = Comparison
        fields: tuple[str, ...] = (
            "id", "name", "created", "binned", "pair", "dataset", "split", "limit", "repeats", "tags", "verdict",
            "doubt", "job",
        )  # fmt: skip


class ComparisonOut(ComparisonRow):
    job = JobOut()  # type: ignore[assignment]  # more of it than a row shows
    runs = RunInside(many=True)

    class Meta(ComparisonRow.Meta):
        fields = (
            "id", "name", "created", "binned", "pair", "dataset", "split", "sampling", "limit", "repeats",
            "slo", "cloned_from", "notes", "tags", "verdict", "doubt", "runs", "job",
        )  # fmt: skip


class PlanOut(serializers.Serializer[Any]):
    run_count = serializers.IntegerField()
    prompt_count = serializers.IntegerField()
    sample_count = serializers.IntegerField()
    most_tokens = serializers.IntegerField()
    minutes = serializers.FloatField(allow_null=True, help_text="null: nothing was ever measured with this pair")
    minutes_low = serializers.FloatField(allow_null=True, help_text="one standard deviation faster")
    minutes_high = serializers.FloatField(allow_null=True, help_text="one standard deviation slower")
    memory_bytes = serializers.IntegerField(
        allow_null=True, help_text="weights and scores of branches, without caches; null while a model is checked"
    )
    disk_bytes = serializers.IntegerField()
    start = serializers.CharField(help_text="which workers can run it, and how many jobs are before it")
    shows = serializers.CharField(help_text="what so many prompts can show; empty if nothing is compared")
    has_too_few_prompts = serializers.BooleanField(help_text="no strategy will have an interval")
    labels = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())


class SampleOut(Output):
    prompt = serializers.IntegerField(source="prompt.number")

    class Meta:
        model = Sample
        fields = (
            "id", "run", "prompt", "repeat", "attempt", "worker", "device", "noise", "created", "finished", "last_seq",
            "new_tokens", "tokens_per_s", "numbers",
        )  # fmt: skip


class TraceOut(serializers.Serializer[Any]):
    events = serializers.ListField(child=serializers.DictField())
    words = serializers.DictField(child=serializers.CharField(), help_text="texts of the tokens that are new here")
    last_seq = serializers.IntegerField()
    is_finished = serializers.BooleanField(help_text="nothing will follow")


class ParamOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["int", "float", "bool", "choice", "text"])
    default = serializers.JSONField()
    help = serializers.CharField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    choices = serializers.ListField(child=serializers.CharField())
    word = serializers.CharField(allow_blank=True, help_text="what a number may be instead; empty: nothing")

    def to_representation(self, param: Param) -> dict[str, Any]:
        unbounded = {} if param.kind in ("int", "float") else {"low": None, "high": None}
        return {**super().to_representation(param), **unbounded}


class StrategyOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    role = serializers.ChoiceField(choices=["baseline", "ranked", "bound", "peer", "server"])
    needs_draft = serializers.BooleanField(help_text="false: it also runs on a pair without a draft")
    params = ParamOut(many=True)

"""Jobs, queues and workers as the API shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers

from webapp.accounts.serializers import UserOut
from webapp.core.api import Input, Output
from webapp.jobs import line
from webapp.jobs.models import (
    HIGHEST_PRIORITY,
    LONGEST_REASON,
    LOWEST_PRIORITY,
    MEASURING,
    Job,
    JobEvent,
    Queue,
    Reading,
    Worker,
)


class PlaceOut(serializers.Serializer[Any]):
    position = serializers.IntegerField(help_text="1 is next; 0 when it does not wait")
    reason = serializers.CharField(allow_blank=True)


class StepOut(serializers.Serializer[Any]):
    phase = serializers.CharField()
    done = serializers.IntegerField()
    due = serializers.IntegerField()


class JobOut(Output):
    created_by = UserOut(allow_null=True)
    place = serializers.SerializerMethodField()
    step = StepOut(source="running_step", allow_null=True, help_text="the step that runs, where no parts tell how far")

    class Meta:
        model = Job
        extra_kwargs = {
            "parts": {"help_text": "what done_count and total_count count, such as samples"},
            "limit_s": {"help_text": "the longest that an attempt may take, in seconds"},
            "setback": {"help_text": "why the attempt before this one ended; empty if there was none"},
        }
        fields = (
            "id", "kind", "kind_label", "queue", "title", "state", "priority", "attempt", "counted_ends", "worker",
            "reason", "setback", "is_cancel_asked", "done_count", "total_count", "parts", "step", "created",
            "created_by", "started", "finished", "limit_s", "place",
        )  # fmt: skip

    def get_place(self, job: Job) -> PlaceOut:
        place = line.place(job)
        return {"position": place.position, "reason": place.reason}  # type: ignore[return-value]


class JobRow(Output):
    """Job in a list, without its place, which would cost a query each."""

    step = StepOut(source="running_step", allow_null=True)

    class Meta:
        model = Job
        extra_kwargs = JobOut.Meta.extra_kwargs
        fields = tuple(name for name in JobOut.Meta.fields if name not in ("place", "created_by"))


class JobEventOut(Output):
    numbers = serializers.DictField(help_text="how the work goes: losses of an epoch, prompts recorded; often empty")

    class Meta:
        model = JobEvent
        fields = ("seq", "at", "state", "sentence", "numbers")


class JobEventsOut(serializers.Serializer[Any]):
    events = JobEventOut(many=True)
    last_seq = serializers.IntegerField()
    is_finished = serializers.BooleanField(help_text="nothing will follow")


class GpuReading(serializers.Serializer[Any]):
    name = serializers.CharField()
    utilisation = serializers.FloatField(allow_null=True)
    memory_used = serializers.IntegerField(allow_null=True, help_text="bytes")
    memory_total = serializers.IntegerField(allow_null=True)
    clock_mhz = serializers.IntegerField(allow_null=True)
    power_w = serializers.FloatField(allow_null=True)
    temperature_c = serializers.IntegerField(allow_null=True)
    held_back = serializers.ListField(child=serializers.CharField(), help_text="what keeps its clock down")
    others = serializers.IntegerField(help_text="other programs on it")


class ReadingValues(serializers.Serializer[Any]):
    cores = serializers.ListField(child=serializers.FloatField(), help_text="share in use of each core")
    engine = serializers.FloatField(help_text="share of all cores that the engine process used")
    others = serializers.FloatField(allow_null=True, help_text="share of all cores that everything else used")
    load = serializers.FloatField(help_text="of the system, over the last minute")
    clocks_mhz = serializers.ListField(child=serializers.FloatField(), help_text="of each core")
    memory_used = serializers.IntegerField(allow_null=True, help_text="bytes, of the whole machine")
    memory_total = serializers.IntegerField(allow_null=True)
    engine_memory = serializers.IntegerField()
    temperature_c = serializers.FloatField(allow_null=True, help_text="of the hottest sensor")
    gpus = GpuReading(many=True)


class ReadingOut(Output):
    values = ReadingValues()

    class Meta:
        model = Reading
        fields = ("at", "attempt", "worker", "values")


class FactOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    sentence = serializers.CharField()


class TelemetryOut(serializers.Serializer[Any]):
    readings = ReadingOut(many=True)
    facts = FactOut(many=True)


class Priority(serializers.IntegerField):
    """Priority of a job among its team's own."""

    def __init__(self, **options: Any) -> None:
        help_text = "higher goes first among your team's jobs; above 0 is for owners"
        super().__init__(min_value=LOWEST_PRIORITY, max_value=HIGHEST_PRIORITY, help_text=help_text, **options)


class MeasuringQueue(serializers.ChoiceField):
    """The device on which a job measures. Nobody chooses `light`: its jobs measure nothing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=MEASURING, **options)

    def to_internal_value(self, data: Any) -> Queue:
        return Queue(super().to_internal_value(data))

    def offered(self, now: Callable[[str], str]) -> list[tuple[str, str]]:
        """Queues that a worker at hand listens to, and always the CPU's."""
        there = {Queue.CPU.value}.union(*(worker.queues for worker in Worker.objects.alive()))
        return [(str(key), str(label)) for key, label in self.choices.items() if key in there]


class JobChanges(Input):
    """Changes to a job that waits."""

    priority = Priority()


class PauseIn(Input):
    reason = serializers.CharField(max_length=LONGEST_REASON, required=False, default="", allow_blank=True)


class QueueOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    waiting_count = serializers.IntegerField()
    running_count = serializers.IntegerField()
    worker_count = serializers.IntegerField()
    paused = serializers.CharField(allow_blank=True, help_text="by whom, since when and why; empty when it is not")


class WorkerOut(Output):
    class Meta:
        model = Worker
        fields = ("name", "queues", "devices", "memory", "versions", "started", "seen")

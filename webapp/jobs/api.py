"""Jobs over REST: list, watch, cancel, retry; and who is there to run them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.accounts.rights import Right
from webapp.accounts.standing import reading, who
from webapp.core.api import Nouns
from webapp.core.holding import Waiting, answer
from webapp.core.rest import AFTER, WAIT, Bound, number
from webapp.jobs import line, log, serializers, services, telemetry
from webapp.jobs.models import Job, JobState, Queue, Worker

EVENTS = Bound("limit", 500, 1, 500)


class JobFilter(filters.FilterSet):
    state = filters.ChoiceFilter(choices=JobState.choices)
    kind = filters.CharFilter(max_length=40, help_text="a slug as jobs show it, such as comparison")
    queue = filters.ChoiceFilter(choices=Queue.choices)


class JobsApi(Nouns):
    queryset = Job.objects.select_related("created_by")
    filterset_class = JobFilter
    ordering_fields = ("created", "finished", "state", "priority")
    query_names = ("after", "wait", "limit")
    needs = {"cancel": Right.SUBMIT}

    def get_queryset(self) -> Any:
        if self.action == "cancel" and not getattr(self, "swagger_fake_view", False):
            return services.that_may_cancel(self.actor)
        return super().get_queryset()

    def get_serializer_class(self) -> Any:
        return serializers.JobRow if self.action == "list" else serializers.JobOut

    @extend_schema(request=serializers.JobChanges, responses=serializers.JobOut)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Change the priority of a job that waits."""
        job = self.get_object()
        return self.shown(services.prioritise(job=job, by=self.actor, **self.read(serializers.JobChanges)))

    @extend_schema(request=None, responses={202: serializers.JobOut})
    def cancel(self, request: Request, pk: UUID) -> Response:
        """Cancel a job. The operator may cancel those of every team."""
        return self.shown(services.cancel(job=self.get_object(), by=self.actor), 202)

    @extend_schema(request=None, responses={202: serializers.JobOut})
    def retry(self, request: Request, pk: UUID) -> Response:
        """Queue the job again. What its kind keeps stays finished: samples, figures of papers."""
        return self.shown(services.retry(job=self.get_object(), by=self.actor), 202)

    @extend_schema(
        responses=serializers.JobEventsOut,
        parameters=[
            AFTER.asked("the last seq you have; 0 for all"),
            WAIT.asked("wait up to this many seconds for something new"),
            EVENTS.asked(),
        ],
    )
    def events(self, request: Request, pk: UUID) -> HttpResponse:
        """Lines of the job's log after a cursor, in order and without holes."""
        job = self.get_object()
        after, wait, limit = number(request, AFTER), number(request, WAIT), number(request, EVENTS)

        def look() -> tuple[Any, bool]:
            job.refresh_from_db()  # the state first: if it is final, the events read next are all there are
            events = log.read(job=job.pk, after=after, limit=limit)
            body = {
                "events": serializers.JobEventOut(events, many=True).data,
                "last_seq": events[-1].seq if events else after,
                "is_finished": job.is_final and len(events) < limit,
            }
            return body, bool(events) or job.is_final

        return answer(Waiting(look, log.source(job.pk), wait, who(request), reading(request, job)))

    @extend_schema(responses=serializers.TelemetryOut)
    def telemetry(self, request: Request, pk: UUID) -> Response:
        """Sensor readings of the machine while the job ran: one a second, fewer for long jobs."""
        readings = telemetry.read(self.get_object())
        facts = [{"name": name, "sentence": sentence} for name, sentence in telemetry.facts(readings)]
        return Response(serializers.TelemetryOut({"readings": readings, "facts": facts}).data)


class Workers(Nouns):
    """List the workers. They serve all teams, so everybody who may read sees them."""

    queryset = Worker.objects.all()
    serializer_class = serializers.WorkerOut
    ordering_fields = ("name", "seen")
    ordering = ("name",)

    def get_queryset(self) -> Any:
        return Worker.objects.all()


class Queues(APIView):
    """Queues serve all teams: everyone sees how long they are, and the operator may pause them."""

    @extend_schema(responses=serializers.QueueOut(many=True))
    def get(self, request: Request) -> Response:
        """Count the jobs that wait and run in each queue, and its workers."""
        return Response(serializers.QueueOut(line.states(), many=True).data)


class Pauses(APIView):
    needs = {"": Right.ADMIN}
    for_operator = True

    @extend_schema(request=serializers.PauseIn, responses=serializers.QueueOut)
    def post(self, request: Request, queue: str) -> Response:
        """Pause this queue: workers take nothing more from it. What runs goes on."""
        body = serializers.PauseIn(data=request.data, context={"is_json": True})
        body.is_valid(raise_exception=True)
        actor: Any = request.auth
        paused = services.pause(queue=line.queue_called(queue), reason=body.validated_data["reason"], by=actor)
        return Response(serializers.QueueOut(line.state_of(Queue(paused.queue))).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, queue: str) -> Response:
        """Resume this queue."""
        actor: Any = request.auth
        services.resume(queue=line.queue_called(queue), by=actor)
        return Response(status=204)

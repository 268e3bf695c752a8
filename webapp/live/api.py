"""Long polls for readers without a socket, and tickets for scripts that want a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from webapp.accounts.rights import Right
from webapp.accounts.standing import reading, who
from webapp.comparisons import trace
from webapp.comparisons.frames import Frame
from webapp.comparisons.models import Comparison
from webapp.comparisons.redaction import shown_by
from webapp.core import holding
from webapp.core.api import Nouns
from webapp.core.conditions import Conditions
from webapp.core.holding import Waiting
from webapp.core.news import NewsSource
from webapp.core.problems import Invalid
from webapp.core.proxies import address_of
from webapp.core.rest import WAIT, number
from webapp.jobs import log
from webapp.jobs.models import Job
from webapp.live import tickets
from webapp.live.following import Unreadable, read_cursors, read_since
from webapp.live.job_watch import JobWatch
from webapp.live.watch import Watch
from webapp.sharing import services as sharing


class NewsOut(serializers.Serializer[Any]):
    frames = serializers.ListField(child=serializers.DictField(), help_text="what the socket would have said")
    next = serializers.CharField(help_text="the query to ask with next time: cursors moved on")


class TicketOut(serializers.Serializer[Any]):
    ticket = serializers.CharField(help_text="good once, for half a minute: ws/comparisons/<id>/?ticket=…")


class News(Nouns):
    queryset = Comparison.objects.select_related("job")
    query_names = ("after", "since", "wait")

    @extend_schema(
        responses=NewsOut,
        parameters=[
            OpenApiParameter("after", str, description="sample:seq,sample:seq: traces to go on with, and from where"),
            OpenApiParameter("since", str, description="as a samples frame gave it; empty for all samples"),
            WAIT.asked(),
        ],
    )
    def events(self, request: Request, pk: UUID) -> HttpResponse:
        """News of a comparison; `wait` holds the answer until there is some."""
        comparison = self.get_object()
        poll = Poll(request, Watch(comparison.pk, comparison.job_id))
        return poll.answer(trace.source_of_all(comparison), who(request), reading(request, comparison))


class JobNews(Nouns):
    queryset = Job.objects.all()
    query_names = ("after", "since", "wait")

    @extend_schema(
        responses=NewsOut,
        parameters=[
            OpenApiParameter("after", str, description="job:seq: the job's own id, and the last line of it you have"),
            OpenApiParameter("since", str, description="as the last answer gave it; empty to begin"),
            WAIT.asked(),
        ],
    )
    def news(self, request: Request, pk: UUID) -> HttpResponse:
        """News of a job: its state, and its log with numbers; `wait` holds the answer until there is some."""
        job = self.get_object()
        return Poll(request, JobWatch(job.pk)).answer(log.source(job.pk), who(request), reading(request, job))


class SharedNews(APIView):
    """News of a comparison for whoever has a link."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request, secret: str) -> HttpResponse:
        share = sharing.find(secret, address_of(request))
        comparison = share.comparison
        poll = Poll(request, Watch(comparison.pk, comparison.job_id), shown_by(share.hides_texts))
        return poll.answer(trace.source_of_all(comparison), f"share {share.pk}", sharing.conditions_of(share))


class Poll:
    """One long poll: the frames that its watch has found so far, as `show` redacts them."""

    def __init__(
        self, request: Request, watch: Watch | JobWatch, show: Callable[[Frame], Frame] = lambda frame: frame
    ) -> None:
        _follow(request, watch)
        self.watch, self.show = watch, show
        self.seconds = number(request, WAIT)
        self.is_new = watch.is_from_start
        self.frames: list[Frame] = []

    def answer(self, source: NewsSource, who: str, conditions: Conditions) -> HttpResponse:
        return holding.answer(Waiting(self._look, source, self.seconds, who, conditions))

    def _look(self) -> tuple[dict[str, Any], bool]:
        """Look for frames. Every answer begins with the state, so the first frames alone are no news."""
        more = self.watch.news()
        self.is_new = self.is_new or (bool(more) if self.frames else _moved(more))
        self.frames += [self.show(frame) for frame in more]
        return {"frames": self.frames, "next": _query(self.watch)}, self.is_new or self.watch.is_over


def _follow(request: Request, watch: Watch | JobWatch) -> None:
    try:
        since = read_since(request.query_params.get("since", ""))
        watch.follow(read_cursors(_cursors(request.query_params.get("after", ""))), since)
    except Unreadable as error:
        raise Invalid(str(error), field="since" if "since" in str(error) else "after") from None


class Tickets(ViewSet):
    needs = {"create": Right.READ}

    @extend_schema(request=None, responses={201: TicketOut})
    def create(self, request: Request) -> Response:
        """Make a ticket: a script that has a token opens one socket with it."""
        actor: Any = request.auth
        return Response({"ticket": tickets.issue(actor, request.session.session_key or "")}, status=201)


def _moved(frames: list[dict[str, Any]]) -> bool:
    """Tell whether there is more than the state that every answer begins with."""
    return any(frame["t"] in ("events", "complete") for frame in frames)


def _cursors(text: str) -> dict[str, int]:
    pairs = [piece.rpartition(":") for piece in text.split(",") if piece]
    if any(not (seq.isascii() and seq.isdigit() and len(seq) < 11) for _, _, seq in pairs):
        raise Unreadable("`after` must read sample:seq,sample:seq.")
    return {sample: int(seq) for sample, _, seq in pairs}


def _query(watch: Watch | JobWatch) -> str:
    after = ",".join(f"{sample}:{seq}" for sample, seq in watch.cursors.items())
    since = watch.since.isoformat().replace("+", "%2B") if watch.since else ""
    return f"since={since}&after={after}"

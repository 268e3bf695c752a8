"""News of a comparison for those without a socket, and tickets for scripts that want one."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.asking import asked
from webapp.core.api import Nouns
from webapp.core.cursor import WAIT, number
from webapp.core.problems import Invalid
from webapp.core.waiting import rest
from webapp.jobs.models import Job
from webapp.live import tickets
from webapp.live.following import MOST_FOLLOWED, Unreadable, read_cursors, read_since
from webapp.live.job_watch import JobWatch
from webapp.live.redaction import shown_by
from webapp.live.relay import Watching
from webapp.live.watch import Watch
from webapp.sharing import services as sharing

LOOK_EVERY = 0.25


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
            OpenApiParameter("wait", {"type": "integer", "minimum": WAIT.low, "maximum": WAIT.high}),
        ],
    )
    def events(self, request: Request, pk: UUID) -> Response:
        """What is new in a comparison; `wait` holds the answer until something is."""
        return Response(poll(request, Watch(self.get_object().pk)))


class JobNews(Nouns):
    queryset = Job.objects.all()
    query_names = ("after", "since", "wait")

    @extend_schema(
        responses=NewsOut,
        parameters=[
            OpenApiParameter("after", str, description="job:seq: the job's own id, and the last line of it you have"),
            OpenApiParameter("since", str, description="as the last answer gave it; empty to begin"),
            OpenApiParameter("wait", {"type": "integer", "minimum": WAIT.low, "maximum": WAIT.high}),
        ],
    )
    def news(self, request: Request, pk: UUID) -> Response:
        """What is new of a job: where it stands, its log with numbers; `wait` holds the answer until something is."""
        return Response(poll(request, JobWatch(self.get_object().pk)))


class SharedNews(APIView):
    """The same for whoever has a link."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request, secret: str) -> Response:
        share = sharing.find(secret)
        answer = poll(request, Watch(share.comparison_id))
        show = shown_by(share.hides_texts)
        return Response({**answer, "frames": [show(frame) for frame in answer["frames"]]})


class SharedWhatIf(APIView):
    """Likewise: a replay shows numbers and no texts."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request, secret: str) -> Response:
        return Response(asked(sharing.find(secret).comparison, request.query_params.dict()))


def poll(request: Request, watch: Watching) -> dict[str, Any]:
    _follow(request, watch)
    deadline = time.monotonic() + number(request, WAIT)
    is_first = watch.is_from_start
    frames = watch.news()
    is_new = is_first or _moved(frames)
    while not is_new and not watch.is_over and time.monotonic() < deadline:
        rest(LOOK_EVERY)
        more = watch.news()
        is_new = bool(more)
        frames += more
    return {"frames": frames, "next": _query(watch)}


def _follow(request: Request, watch: Watching) -> None:
    try:
        since = read_since(request.query_params.get("since", ""))
        watch.follow(read_cursors(_cursors(request.query_params.get("after", ""))), since)
    except Unreadable as error:
        raise Invalid(str(error), field="since" if "since" in str(error) else "after") from None
    if len(watch.cursors) > MOST_FOLLOWED:
        raise Invalid(f"At most {MOST_FOLLOWED} samples can be followed at once.", field="after")


class Tickets(ViewSet):
    needs = {"create": Right.READ}

    @extend_schema(request=None, responses={201: TicketOut})
    def create(self, request: Request) -> Response:
        """A way to open one socket, for a script that has a token."""
        actor: Any = request.auth
        return Response({"ticket": tickets.issue(actor, request.session.session_key or "")}, status=201)


def _moved(frames: list[dict[str, Any]]) -> bool:
    """Whether there is more than what every answer begins with."""
    return any(frame["t"] in ("events", "complete") for frame in frames)


def _cursors(text: str) -> dict[str, int]:
    pairs = [piece.rpartition(":") for piece in text.split(",") if piece]
    if any(not (seq.isascii() and seq.isdigit() and len(seq) < 11) for _, _, seq in pairs):
        raise Unreadable("`after` must read sample:seq,sample:seq.")
    return {sample: int(seq) for sample, _, seq in pairs}


def _query(watch: Watching) -> str:
    after = ",".join(f"{sample}:{seq}" for sample, seq in watch.cursors.items())
    since = watch.since.isoformat().replace("+", "%2B") if watch.since else ""
    return f"since={since}&after={after}"

"""Sockets of a comparison's page, of the same page behind a link, and of a job's page."""

from __future__ import annotations

from channels.generic.websocket import AsyncWebsocketConsumer

from webapp.accounts.actor import Actor
from webapp.comparisons.models import Comparison
from webapp.comparisons.redaction import shown_by
from webapp.core.conditions import Condition, Conditions, still_exists
from webapp.core.proxies import client_address
from webapp.jobs.models import Job
from webapp.live.job_watch import JobWatch
from webapp.live.watch import Watch
from webapp.live.watch_socket import NOT_FOUND, WatchSocket
from webapp.sharing import services as sharing


class ComparisonConsumer(WatchSocket):
    what = "comparison"

    def fresh_watch(self) -> Watch:
        return Watch(self.comparison.pk, self.comparison.job_id)

    def conditions_for(self, actor: Actor) -> Conditions:
        pk = self.scope["url_route"]["kwargs"]["pk"]
        found = Comparison.objects.visible_to(actor).filter(pk=pk).only("job").first()
        if found is None:
            raise self.not_found
        self.comparison = found
        return (Condition(still_exists(Comparison), pk, self.not_found),)


class SharedConsumer(ComparisonConsumer):
    """Socket for whoever has the link; session and ticket do not matter."""

    takes_tickets = False

    def admitted(self) -> Conditions:
        share = sharing.find(self.scope["url_route"]["kwargs"]["secret"], client_address(self.scope))
        self.comparison, self.show = share.comparison, shown_by(share.hides_texts)
        self.audience = f"link, hides texts: {share.hides_texts}"
        return sharing.conditions_of(share)


class JobConsumer(WatchSocket):
    what = "job"

    def fresh_watch(self) -> JobWatch:
        return JobWatch(self.scope["url_route"]["kwargs"]["pk"])

    def conditions_for(self, actor: Actor) -> Conditions:
        job = self.scope["url_route"]["kwargs"]["pk"]
        if not Job.objects.visible_to(actor).filter(pk=job).exists():
            raise self.not_found
        return (Condition(still_exists(Job), job, self.not_found),)


class NoSuchSocket(AsyncWebsocketConsumer):
    """Close every other address. Channels would log its path with a stack."""

    channel_layer_alias = "none"

    async def connect(self) -> None:
        await self.accept()
        await self.close(NOT_FOUND, "There is no such socket.")

"""The sockets there are: of a comparison's page, which may be shared, and of a job's."""

from __future__ import annotations

from webapp.accounts.actor import Actor
from webapp.comparisons.models import Comparison
from webapp.core.problems import Gone
from webapp.jobs.models import Job
from webapp.live.job_watch import JobWatch
from webapp.live.redaction import shown_by
from webapp.live.telling import NOT_FOUND, Teller
from webapp.live.watch import Watch
from webapp.sharing import services as sharing


class ComparisonConsumer(Teller):
    what = "comparison"

    def fresh_watch(self) -> Watch:
        return Watch(self.comparison)

    def _refused_actor(self, ticket: str) -> tuple[int, str] | None:
        if secret := self.scope["url_route"]["kwargs"].get("secret"):
            return self._refused_stranger(secret)
        return super()._refused_actor(ticket)

    def refusal_of(self, actor: Actor) -> tuple[int, str] | None:
        self.comparison = self.scope["url_route"]["kwargs"]["pk"]
        is_there = Comparison.objects.visible_to(actor).filter(pk=self.comparison).exists()
        return None if is_there else self.not_found

    def _refused_stranger(self, secret: str) -> tuple[int, str] | None:
        try:
            share = sharing.find(secret)
        except Gone as problem:
            return NOT_FOUND, problem.detail
        self.comparison, self.show = share.comparison_id, shown_by(share.hides_texts)
        return None


class JobConsumer(Teller):
    what = "job"

    def fresh_watch(self) -> JobWatch:
        return JobWatch(self.scope["url_route"]["kwargs"]["pk"])

    def refusal_of(self, actor: Actor) -> tuple[int, str] | None:
        found = Job.objects.visible_to(actor).filter(pk=self.scope["url_route"]["kwargs"]["pk"])
        return None if found.exists() else self.not_found

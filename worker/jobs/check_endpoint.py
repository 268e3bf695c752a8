"""Ask a server what it serves, and write the answers down in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.backends.contestants.servers.endpoint import Reach
from decoding.errors import DrafthouseError
from webapp.registry.kinds import CHECK_ENDPOINT
from worker.messages import Cancelled, Emit, Order, Reply
from worker.servers import opened, servers_asked

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = CHECK_ENDPOINT


@dataclass(frozen=True, slots=True)
class CheckEndpoint(Order):
    servers: Reach

    opens_within_s = 300.0

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from decoding.backends.contestants.servers.examining import examine

        reach = opened(self.servers)
        [spec] = reach.endpoints.values()
        model, found = examine(spec, reach)
        emit(Examined(model, found))


@dataclass(frozen=True, slots=True)
class Examined(Reply):
    model: str
    findings: Sequence[dict[str, str]]


def work(attempt: Attempt) -> None:
    from webapp.registry.endpoints import services as endpoints
    from webapp.registry.models import Endpoint, Readiness

    endpoint = attempt.insist(lambda: Endpoint.objects.select_related("target").filter(job=attempt.job).first())
    if endpoint is None:
        return  # it is gone, or a later check has taken over
    try:
        found = attempt.answer(CheckEndpoint(attempt.insist(lambda: servers_asked([endpoint]))), Examined)
    except DrafthouseError as refusal:
        sentence = str(refusal)
        attempt.insist(lambda: endpoints.was_checked(job=attempt.job, state=Readiness.REFUSED, reason=sentence))
        raise
    attempt.insist(
        lambda: endpoints.was_checked(
            job=attempt.job, state=Readiness.READY, findings=found.findings, serves=found.model
        )
    )

"""Servers that an order may ask, on their way to the engine. Keys travel through its pipe and stand nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import NOWHERE, Allowed
from webapp.core import logs
from worker.gauges import process_at

if TYPE_CHECKING:
    from webapp.registry.models import Endpoint


LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class ServersAsked:
    endpoints: Mapping[str, EndpointSpec] = field(default_factory=dict)  # by name
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # by the reference that an endpoint holds
    allowed: Allowed = NOWHERE
    certificates: str = ""  # PEM file on this machine, for all of them

    def reach(self) -> Reach:
        """Call it in the engine. No line of its log shows a key from then on."""
        logs.hide(*self.keys.values())
        return Reach(self.endpoints, self.keys.__getitem__, self.allowed, self.certificates)


NO_SERVERS = ServersAsked()


def local_pids(endpoints: Iterable[EndpointSpec]) -> list[int]:
    """Find the processes of the servers that run on this machine. Their work is no noise."""
    places = (endpoint.place for endpoint in endpoints)
    found = [process_at(place.port) for place in places if place.host in LOCAL]
    return [pid for pid in found if pid is not None]


def servers_asked(endpoints: Iterable[Endpoint]) -> ServersAsked:
    """Collect addresses and keys. Call it in the worker."""
    from django.conf import settings

    from webapp.registry.endpoints.services import key_of

    rows = list(endpoints)
    keys = {row.spec.key: key_of(row) for row in rows if row.has_key}
    logs.hide(*keys.values())
    return ServersAsked({row.name: row.spec for row in rows}, keys, settings.SERVERS, settings.SERVER_CERTIFICATES)

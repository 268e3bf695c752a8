"""Servers that an order may ask, on their way to the engine. Keys travel through its pipe and stand nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from webapp.core import logs
from worker.gauges import process_at

if TYPE_CHECKING:
    from webapp.registry.models import Endpoint

LOCAL = ("127.0.0.1", "::1", "localhost")


def opened(servers: Reach) -> Reach:
    """Let no line of this process's log show a key from now on."""
    logs.hide(*servers.keys.values())
    return servers


def local_pids(endpoints: Iterable[EndpointSpec]) -> list[int]:
    """Find the processes of the servers that run on this machine. Their work is no noise."""
    places = (endpoint.place for endpoint in endpoints)
    found = [process_at(place.port) for place in places if place.host in LOCAL]
    return [pid for pid in found if pid is not None]


def servers_asked(endpoints: Iterable[Endpoint]) -> Reach:
    """Collect addresses and keys. Call it in the worker."""
    from django.conf import settings

    from webapp.registry.endpoints.services import key_of

    rows = list(endpoints)
    keys = {row.spec.key: key_of(row) for row in rows if row.has_key}
    specs = {row.name: row.spec for row in rows}
    return opened(Reach(specs, keys, settings.SERVERS, settings.SERVER_CERTIFICATES))

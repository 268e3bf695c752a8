"""Servers over REST."""

from __future__ import annotations

from uuid import UUID

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.entries.api import Binned, EntryFilter
from webapp.registry.endpoints import services
from webapp.registry.endpoints.serializers import EndpointOut, NewEndpoint, NewKey
from webapp.registry.models import Endpoint, Readiness


class EndpointFilter(EntryFilter):
    state = filters.ChoiceFilter(choices=Readiness.choices)


class Endpoints(Binned):
    """Servers that comparisons may ask. A server keeps its name and its address; only its key changes."""

    queryset = Endpoint.objects.select_related("target")
    serializer_class = EndpointOut
    filterset_class = EndpointFilter

    @extend_schema(request=NewEndpoint, responses={202: EndpointOut})
    def create(self, request: Request) -> Response:
        """Register a server. A worker then asks it what it serves."""
        return self.shown(services.add_endpoint(by=self.actor, **self.read(NewEndpoint)), 202)

    @extend_schema(request=None, responses={202: EndpointOut})
    def check(self, request: Request, pk: UUID) -> Response:
        """Ask the server again."""
        endpoint = self.get_object()
        services.check(endpoint=endpoint, by=self.actor)
        return self.shown(endpoint, 202)

    @extend_schema(request=NewKey, responses=EndpointOut)
    def set_key(self, request: Request, pk: UUID) -> Response:
        """Set the key, in place of the one that was set before."""
        endpoint = self.get_object()
        services.set_key(endpoint=endpoint, by=self.actor, **self.read(NewKey))
        return self.shown(endpoint)

    @extend_schema(responses={204: None})
    def drop_key(self, request: Request, pk: UUID) -> Response:
        """Delete the key."""
        services.drop_key(endpoint=self.get_object(), by=self.actor)
        return Response(status=204)

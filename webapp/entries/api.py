"""Entries over REST: the parts of their API that all kinds share."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.accounts.serializers import Name
from webapp.core.api import Input, Nouns
from webapp.entries import services


class NewName(Input):
    name = Name(max_length=200)


class EntryFilter(filters.FilterSet):
    name = filters.CharFilter(lookup_expr="icontains", max_length=200)
    binned = filters.BooleanFilter(field_name="binned", lookup_expr="isnull", exclude=True)


class Binned(Nouns):
    ordering_fields = ("created", "name")

    def filter_queryset(self, queryset: Any) -> Any:
        found: Any = super().filter_queryset(queryset)
        return found if "binned" in self.request.query_params else found.kept()

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        """Move it to the bin; `restore` brings it back."""
        services.bin(entry=self.get_object(), by=self.actor)
        return Response(status=204)

    @extend_schema(request=None)
    def restore(self, request: Request, pk: UUID) -> Response:
        entry = self.get_object()
        self.bring_back(entry)
        return self.shown(entry)

    def bring_back(self, entry: Any) -> None:
        services.restore(entry=entry, by=self.actor)


class Entries(Binned):
    """Verbs of all registered things: rename until used, put into the bin, restore."""

    filterset_class = EntryFilter

    @extend_schema(request=NewName)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        entry = self.get_object()
        services.rename(entry=entry, by=self.actor, **self.read(NewName))
        return self.shown(entry)

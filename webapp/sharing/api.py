"""Share links over REST, and the numbers that a shared page asks for."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.asking import answer_query
from webapp.core.api import Nouns
from webapp.core.proxies import address_of
from webapp.sharing import serializers, services
from webapp.sharing.models import Share


class ShareFilter(filters.FilterSet):
    comparison = filters.UUIDFilter(field_name="comparison_id")


class Shares(Nouns):
    queryset = Share.objects.all()
    serializer_class = serializers.ShareOut
    filterset_class = ShareFilter
    ordering_fields = ("created", "expires")

    @extend_schema(request=serializers.NewLink, responses={201: serializers.NewShareOut})
    def create(self, request: Request, pk: UUID) -> Response:
        """Make a link to this comparison, read-only and live, for anybody who has it."""
        comparison = self.parent(Comparison.objects.visible_to(self.actor), pk)
        made, secret = services.share(comparison=comparison, by=self.actor, **self.read(serializers.NewLink))
        return self.shown(made, 201, link=request.build_absolute_uri(reverse("shared", args=[secret])))

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        """Revoke the link: it shows nothing any more."""
        services.revoke(share=self.get_object(), by=self.actor)
        return Response(status=204)


class SharedWhatIf(APIView):
    """Answer what-if to everybody who has a link: it shows numbers and no texts."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request, secret: str) -> Response:
        return Response(
            answer_query(services.opened(secret, address_of(request)).comparison, request.query_params.dict())
        )

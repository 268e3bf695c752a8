"""The registry over REST: models, pairs, prompt sets."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.accounts.rights import Right
from webapp.core.api import Nouns
from webapp.core.rest import Body
from webapp.core.turns import takes_long
from webapp.entries.api import Entries, EntryFilter
from webapp.registry import lengths, pairing, prompt_sets, serializers, services
from webapp.registry.models import Dataset, LanguageModel, Pair, Prompt, Readiness, TokenLengths


class ModelFilter(EntryFilter):
    state = filters.ChoiceFilter(choices=Readiness.choices)
    source = filters.ChoiceFilter(choices=LanguageModel.Origin.choices)


class Models(Entries):
    queryset = LanguageModel.objects.all()
    serializer_class = serializers.ModelOut
    filterset_class = ModelFilter

    @extend_schema(request=serializers.NewModel, responses={202: serializers.ModelOut})
    @takes_long("POST")
    def create(self, request: Request) -> Response:
        """Register a model at once. It is ready when a worker has looked at it."""
        return self.shown(services.add_model(by=self.actor, **self.read(serializers.NewModel)), 202)


class Pairs(Entries):
    queryset = Pair.objects.select_related("target", "draft")
    serializer_class = serializers.PairOut
    needs = {"check": Right.READ}

    @extend_schema(request=serializers.NewPair, responses={201: serializers.PairOut})
    @takes_long("POST")
    def create(self, request: Request) -> Response:
        return self.shown(services.add_pair(by=self.actor, **self.read(serializers.NewPair)), 201)

    @extend_schema(request=serializers.PairQuestion, responses=serializers.PairAnswer)
    @takes_long("POST")
    def check(self, request: Request) -> Response:
        """Check whether two models fit together, without making a pair of them."""
        return Response({"findings": pairing.findings(**self.read(serializers.PairQuestion))})


class Datasets(Entries):
    queryset = Dataset.objects.all()
    body = Body(bytes=settings.CHUNK_BYTES)  # prompts may be pasted
    serializer_class = serializers.DatasetOut
    needs = {"preview": Right.READ}

    @extend_schema(request=serializers.NewDataset, responses={201: serializers.DatasetOut})
    @takes_long("POST")
    def create(self, request: Request) -> Response:
        """Add a prompt set: an upload, or pasted text."""
        return self.shown(prompt_sets.add_dataset(by=self.actor, **self.read(serializers.NewDataset)), 201)

    @extend_schema(request=serializers.PromptFile, responses=serializers.PreviewOut)
    @takes_long("POST")
    def preview(self, request: Request) -> Response:
        """Preview a prompt file: columns, and counts and prompts of the first rows."""
        found = prompt_sets.preview(prompt_sets.beginning_of(**self.read(serializers.PromptFile)))
        return Response(serializers.PreviewOut(found).data)


class PromptFilter(filters.FilterSet):
    split = filters.CharFilter(max_length=20)
    category = filters.CharFilter(max_length=200)


class Prompts(Nouns):
    """List the prompts of one set."""

    queryset = Prompt.objects.all()
    serializer_class = serializers.PromptOut
    filterset_class = PromptFilter
    ordering_fields = ("number",)
    ordering = ("number",)

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return Prompt.objects.none()
        sets = Dataset.objects.visible_to(self.actor)
        return Prompt.objects.filter(dataset=self.parent(sets, self.kwargs["pk"]))

    @extend_schema(parameters=[OpenApiParameter("id", UUID, OpenApiParameter.PATH)])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().list(request, *args, **kwargs)


class CountFilter(filters.FilterSet):
    pair = filters.UUIDFilter()


class TokenCounts(Nouns):
    """Show how many tokens the prompts of one set have, by pair."""

    queryset = TokenLengths.objects.all()
    serializer_class = serializers.TokenLengthsOut
    filterset_class = CountFilter

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return TokenLengths.objects.none()
        return TokenLengths.objects.filter(dataset=self._dataset())

    @extend_schema(parameters=[OpenApiParameter("id", UUID, OpenApiParameter.PATH)])
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().list(request, *args, **kwargs)

    @extend_schema(
        request=serializers.PairChoice,
        responses={202: serializers.TokenLengthsOut},
        parameters=[OpenApiParameter("id", UUID, OpenApiParameter.PATH)],
    )
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Have a worker count the tokens, unless they were counted before."""
        dataset, asked = self._dataset(), self.read(serializers.PairChoice)
        return self.shown(lengths.count(dataset=dataset, by=self.actor, **asked), 202)

    def address(self, thing: TokenLengths) -> str:
        return f"{self.request.build_absolute_uri(self.request.path)}?pair={thing.pair_id}"

    def _dataset(self) -> Dataset:
        found: Dataset = self.parent(Dataset.objects.visible_to(self.actor), self.kwargs["pk"])
        return found

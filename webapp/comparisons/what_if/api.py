"""The what-if over REST: for the page's sliders, and for scripts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from decoding.public import MOST_USERS_ASKED
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.asking import QUERY, SLUGS, USUAL, USUAL_ALONE, answer_query
from webapp.comparisons.what_if.refusals import ASKABLE
from webapp.core.api import Nouns


class CurveOut(serializers.Serializer[Any]):
    param = serializers.CharField(
        help_text="the parameter that varies; all others stay as asked; empty: the strategy has no slider"
    )
    points = serializers.ListField(
        child=serializers.DictField(child=serializers.FloatField()), help_text="value, ratio, low, high, unmeasured"
    )
    missing = serializers.ListField(
        child=serializers.FloatField(),
        help_text="values that nobody has asked for yet; only ssd and several users have any",
    )


class WhatIfOut(serializers.Serializer[Any]):
    simulated = serializers.BooleanField(help_text="always true: nothing here was measured")
    strategy = serializers.CharField()
    params = serializers.DictField()
    users = serializers.IntegerField(help_text="users at once")
    label = serializers.CharField()  # type: ignore[assignment]  # a field is none of the serializer's attributes
    speedup = serializers.DictField(
        help_text="ratio of total times, low and high of its 95 % interval over prompts, and the number of prompts"
    )
    possible = serializers.DictField(
        help_text="low and high: if all drafts at unknown positions were refused, or accepted"
    )
    known = serializers.FloatField(help_text="share of the text's positions at which some strategy drafted")
    unmeasured = serializers.FloatField(help_text="share of verifications wider than any that was measured")
    context_known = serializers.BooleanField(help_text="whether the traces show what longer texts cost")
    mean_acceptance_length = serializers.FloatField()
    num_target_passes = serializers.IntegerField()
    num_draft_passes = serializers.IntegerField()
    hit_rate = serializers.FloatField(allow_null=True, help_text="ssd: share of outcomes that were prepared")
    measured = serializers.ListField(
        child=serializers.DictField(),
        help_text="each run of this comparison: label, name, strategy, params, role, the measured speedup, and what "
        "the same replay says of it, simulated; null if the strategy cannot be replayed",
    )
    correction = serializers.FloatField(
        help_text="measured speed divided by simulated, on the strategies that ran; applied here"
    )
    error = serializers.FloatField(allow_null=True, help_text="the replay's largest error on the strategies that ran")
    bound = serializers.FloatField(
        allow_null=True, help_text="the same for an oracle; null for ssd, which it does not bound"
    )
    curve = CurveOut()
    notes = serializers.ListField(child=serializers.CharField())


def _parameter(name: str) -> OpenApiParameter:
    """Describe a slider's parameter and the strategies that take it."""
    takers = [strategy for strategy in ASKABLE if any(slider.param == name for slider in strategy.sliders)]
    [param] = [param for param in takers[0].params if param.name == name]
    slider = next(slider for slider in takers[0].sliders if slider.param == name)
    kinds = {} if slider.options else {"int": int, "float": float}
    return OpenApiParameter(
        name,
        kinds.get(param.kind, str),
        enum=None if slider.high else list(slider.options) or None,
        description=f"{', '.join(strategy.slug for strategy in takers)}: {param.help}",
    )


class WhatIf(Nouns):
    queryset = Comparison.objects.select_related("job")
    query_names = QUERY

    @extend_schema(
        responses=WhatIfOut,
        parameters=[
            OpenApiParameter(
                "strategy", str, enum=SLUGS, description=f"{USUAL} if not given; without a draft, {USUAL_ALONE}"
            ),
            OpenApiParameter("users", int, description=f"users at once, 1 to {MOST_USERS_ASKED}; 1 if not given"),
            *(_parameter(name) for name in QUERY if name not in ("strategy", "users")),
        ],
    )
    def retrieve(self, request: Request, pk: UUID) -> Response:
        """Simulate another setting for one user or for several. The recorded traces are replayed at the prices measured
        in this comparison. Nothing of it is a measurement; the answer says how much of it is known."""
        return Response(WhatIfOut(answer_query(self.get_object(), request.query_params.dict())).data)

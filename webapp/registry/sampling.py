"""Fields of a body that say how tokens are chosen, the same wherever texts are made."""

from __future__ import annotations

from rest_framework import serializers

from webapp.core.api import Input


class SamplingFields(Input):
    """Sampling as a body states it. The bounds are those of decoding.spec.Sampling."""

    temperature = serializers.FloatField(
        min_value=0.0, max_value=10.0, required=False, default=0.0,
        help_text="0: greedy, unless another is given; the terminal takes what suits the pair",
    )  # fmt: skip
    top_k = serializers.IntegerField(min_value=0, max_value=1_000_000, required=False, default=0, help_text="0: all")
    top_p = serializers.FloatField(min_value=1e-6, max_value=1.0, required=False, default=1.0)
    repetition_penalty = serializers.FloatField(min_value=0.1, max_value=10.0, required=False, default=1.0)
    dice = serializers.ChoiceField(
        choices=["shared", "ratio"], required=False, default="shared",
        help_text="shared: every strategy gives the very same text; ratio: the same distribution",
    )  # fmt: skip
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False, default=0)
    max_new_tokens = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False, default=128)

"""Bodies and answers about servers. No answer holds a key."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from decoding.public import DIALECTS, LARGEST_KEY, SERVER_DTYPES, SERVER_NAME, USUAL_DEADLINE_S, USUAL_SERVER_DTYPE
from webapp.core.api import Input, Output, Visible
from webapp.registry.models import Endpoint, LanguageModel
from webapp.registry.serializers import COMMON, FindingOut, ModelName

KINDS = [(name, dialect.title) for name, dialect in DIALECTS.items()]


class Key(serializers.RegexField):
    """A server's key. Bodies hold it, answers never do."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            r"^[!-~]+\Z",
            max_length=LARGEST_KEY,
            write_only=True,
            style={"as": "password"},
            error_messages={"invalid": "A key is one word of letters, digits and signs."},
            **options,
        )


class NewEndpoint(Input):
    """A server: where it is, which dialect it speaks, and its key if it asks for one."""

    name = serializers.RegexField(
        rf"^{SERVER_NAME.pattern}\Z",
        max_length=64,
        help_text="letters, digits, dots, dashes; results call it server:NAME",
        error_messages={"invalid": "Take letters, digits, dots, dashes and underscores, at most 64."},
    )
    url = serializers.CharField(
        max_length=300, label="Address", help_text="with http or https, host and port; /v1 at its end is left out"
    )
    dialect = serializers.ChoiceField(choices=KINDS, help_text="the program that answers there")
    model = serializers.CharField(
        max_length=200, required=False, default="", allow_blank=True, label="Name of the model",
        help_text="on the server; empty: the one that the server lists",
    )  # fmt: skip
    target = Visible(
        queryset=LanguageModel.objects.all(), required=False, allow_null=True, default=None,
        label="Target that it claims to be", help_text="for display; an audit finds out",
    )  # fmt: skip
    key = Key(required=False, default="", allow_blank=True, help_text="sent as a bearer token; never shown again")
    deadline_s = serializers.FloatField(
        min_value=1.0, max_value=86_400.0, required=False, default=USUAL_DEADLINE_S, label="Deadline",
        help_text="seconds for one request",
    )  # fmt: skip
    dtype = serializers.ChoiceField(
        choices=SERVER_DTYPES, required=False, default="", allow_blank=True, label="Number format",
        help_text=f"in which it decodes; its roundings explain ties. Empty: {USUAL_SERVER_DTYPE}",
    )  # fmt: skip


class NewKey(Input):
    key = Key(label="New key")


class EndpointOut(Output):
    target = ModelName(allow_null=True)
    has_key = serializers.BooleanField()
    findings = FindingOut(many=True)
    serves = serializers.CharField(help_text="model that the last check found; empty if the server lists none")

    class Meta:
        model = Endpoint
        fields = (
            *COMMON, "url", "dialect", "model", "target", "deadline_s", "dtype", "has_key", "key_set", "state",
            "reason", "findings", "serves", "checked", "job",
        )  # fmt: skip

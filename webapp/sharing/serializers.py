"""Bodies and answers of sharing."""

from __future__ import annotations

from rest_framework import serializers

from webapp.core.api import Input, Output
from webapp.sharing.models import Share


class NewLink(Input):
    days = serializers.IntegerField(
        min_value=1, max_value=3650, default=30, allow_null=True, label="Valid for days", help_text="empty: no end"
    )
    hides_texts = serializers.BooleanField(default=False, label="Hide prompts and texts, show only numbers")


class ShareOut(Output):
    is_open = serializers.BooleanField()

    class Meta:
        model = Share
        fields: tuple[str, ...] = ("id", "comparison", "created", "expires", "hides_texts", "revoked_at", "is_open")


class NewShareOut(ShareOut):
    link = serializers.CharField(help_text="Shown this once; whoever has it may look.", read_only=True)

    class Meta(ShareOut.Meta):
        fields = (*ShareOut.Meta.fields, "link")

"""Input and output of the accounts' API and forms."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Role, Scope, Team
from webapp.core.api import Input, Output


class Name(serializers.CharField):
    """A title that fits on one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 80, **options})

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not text.isprintable():
            raise serializers.ValidationError("This holds control characters or line breaks; leave them out.")
        return text


# Input ---------------------------------------------------------------------------------------------------------------


class SignIn(Input):
    username = serializers.CharField(max_length=40)
    password = serializers.CharField(max_length=200, trim_whitespace=False, style={"as": "password"})


class NewAccount(Input):
    username = serializers.CharField(max_length=40, help_text="a-z, 0-9, dot, dash, underscore")
    name = Name(required=False, help_text="how others see you; optional")
    password = serializers.CharField(
        max_length=200, trim_whitespace=False, style={"as": "password"}, help_text="ten characters or more"
    )


class NewPassword(Input):
    current = serializers.CharField(
        max_length=200, required=False, default="", trim_whitespace=False, style={"as": "password"},
        label="Current password", help_text="empty if you have none yet",
    )  # fmt: skip
    new = serializers.CharField(
        max_length=200, trim_whitespace=False, style={"as": "password"}, label="New password",
        help_text="ten characters or more",
    )  # fmt: skip


class TeamName(Input):
    name = Name()


class HubToken(Input):
    hub_token = serializers.RegexField(
        r"^[!-~]*\Z", max_length=200, required=False, allow_blank=True, write_only=True, style={"as": "password"},
        label="Token",
        help_text="fetches the team's models from the Hugging Face hub; never shown again; empty: deletes it",
        error_messages={"invalid": "A token is one word of letters, digits and signs."},
    )  # fmt: skip


class TeamChange(HubToken):
    """A new name, a new token, or both."""

    name = Name(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Give name or hub_token.")
        return attrs


class NewInvitation(Input):
    role = serializers.ChoiceField(choices=Role.choices, default=Role.MEMBER)
    days = serializers.IntegerField(min_value=1, max_value=90, default=7, label="Valid for days")


class NewRole(Input):
    role = serializers.ChoiceField(choices=Role.choices)


class NewToken(Input):
    name = Name(help_text="what will use it")
    scope = serializers.ChoiceField(choices=Scope.choices, default=Scope.SUBMIT)
    days = serializers.IntegerField(
        min_value=1,
        max_value=3650,
        default=90,
        allow_null=True,
        label="Valid for days",
        help_text="empty: no end",
    )


# Output --------------------------------------------------------------------------------------------------------------


class NewDisplayName(Input):
    name = Name(
        required=False,
        default="",
        allow_blank=True,
        label="Name",
        help_text="the name that others see; empty: the one above",
    )


class PersonOut(Output):
    teams = serializers.SerializerMethodField()

    class Meta:
        model = get_user_model()
        fields = ("id", "username", "name", "created", "is_active", "is_operator", "last_login", "teams")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_teams(self, user: Any) -> list[str]:
        return [membership.team.name for membership in user.memberships.all()]


class UserOut(Output):
    class Meta:
        model = get_user_model()
        fields = ("id", "username", "name")


class TeamOut(Output):
    has_hub_token = serializers.BooleanField()

    class Meta:
        model = Team
        fields = ("id", "name", "created", "has_hub_token")


class MembershipOut(Output):
    user = UserOut()

    class Meta:
        model = Membership
        fields = ("id", "user", "role", "created")


class InvitationOut(Output):
    created_by = UserOut(allow_null=True)
    is_open = serializers.BooleanField()

    class Meta:
        model = Invitation
        fields: tuple[str, ...] = ("id", "role", "created", "expires", "created_by", "used_at", "revoked_at", "is_open")


class NewInvitationOut(InvitationOut):
    link = serializers.CharField(help_text="Shown this once; whoever opens it may join.", read_only=True)

    class Meta(InvitationOut.Meta):
        fields: tuple[str, ...] = (*InvitationOut.Meta.fields, "link")


class TokenOut(Output):
    is_valid = serializers.BooleanField()  # type: ignore[assignment]  # a field is none of the serializer's attributes

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            "id",
            "name",
            "key",
            "scope",
            "created",
            "expires",
            "last_used",
            "revoked_at",
            "is_valid",
        )


class NewTokenOut(TokenOut):
    token = serializers.CharField(help_text="Shown this once.", read_only=True)

    class Meta(TokenOut.Meta):
        fields: tuple[str, ...] = (*TokenOut.Meta.fields, "token")


class AuditOut(Output):
    user = UserOut(allow_null=True)

    class Meta:
        model = AuditEntry
        fields = ("id", "created", "user", "verb", "subject", "subject_id", "subject_name", "detail", "request_id")


class Me(serializers.Serializer[Any]):
    user = UserOut()
    team = TeamOut(allow_null=True)
    right = serializers.ChoiceField(choices=["none", "read", "submit", "admin"])
    token = TokenOut(allow_null=True)

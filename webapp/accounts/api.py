"""Accounts over REST: me, teams, members, invitations, tokens, audit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.accounts import serializers, services
from webapp.accounts.actor import Actor
from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Team, User
from webapp.accounts.rights import Right
from webapp.core.api import Nouns
from webapp.core.problems import Conflict, Forbidden


class MeView(APIView):
    needs = {"": Right.NONE}

    @extend_schema(responses=serializers.Me)
    def get(self, request: Request) -> Response:
        """Show whom the token or session stands for, in which team and with what right."""
        actor: Any = request.auth
        shown = {"user": actor.user, "team": actor.team, "right": actor.right.name.lower(), "token": actor.token}
        return Response(serializers.Me(shown).data)

    @extend_schema(request=serializers.NewDisplayName, responses=serializers.UserOut)
    def patch(self, request: Request) -> Response:
        """Change your display name."""
        actor: Any = request.auth
        _only_people(actor)
        body = serializers.NewDisplayName(data=request.data, context={"is_json": True})
        body.is_valid(raise_exception=True)
        services.call(user=actor.user, by=actor, **body.validated_data)
        return Response(serializers.UserOut(actor.user).data)


class UserFilter(filters.FilterSet):
    is_active = filters.BooleanFilter()


class Users(Nouns):
    """List all users of this installation, for its operator."""

    queryset = User.objects.prefetch_related("memberships__team")
    serializer_class = serializers.PersonOut
    filterset_class = UserFilter
    needs = {action: Right.NONE for action in ("list", "retrieve", "deactivate", "reactivate")}
    for_operator = True
    ordering_fields = ("created", "username")

    def get_queryset(self) -> Any:
        return self.queryset.all()

    @extend_schema(request=None)
    def deactivate(self, request: Request, pk: UUID) -> Response:
        """Deactivate a user. Their password, links, sessions and tokens stop working at once; what they made stays."""
        return self._set(is_active=False)

    @extend_schema(request=None)
    def reactivate(self, request: Request, pk: UUID) -> Response:
        """Reactivate a user, who can then sign in again."""
        return self._set(is_active=True)

    def _set(self, *, is_active: bool) -> Response:
        services.set_active(user=self.get_object(), is_active=is_active, by=self.actor)
        return self.shown(self.get_object())


class Teams(Nouns):
    queryset = Team.objects.all()
    serializer_class = serializers.TeamOut
    needs = {"list": Right.NONE, "create": Right.NONE, "partial_update": Right.ADMIN, "switch": Right.NONE}
    ordering_fields = ("created", "name")

    @extend_schema(request=serializers.TeamName, responses={201: serializers.TeamOut})
    def create(self, request: Request) -> Response:
        _only_people(self.actor)
        return self.shown(services.create_team(by=self.actor.user, **self.read(serializers.TeamName)), 201)

    @extend_schema(request=serializers.TeamChange, responses=serializers.TeamOut)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Change the name, or the token that fetches the team's models from the Hugging Face hub."""
        team = self.get_object()
        if team != self.actor.team:
            raise Conflict("You act in another team now.", hint="Switch to this team first.")
        asked = self.read(serializers.TeamChange)
        if "name" in asked:
            services.rename_team(team=team, by=self.actor, name=asked["name"])
        if "hub_token" in asked:
            services.set_hub_token(team=team, by=self.actor, token=asked["hub_token"])
        return self.shown(team)

    @extend_schema(request=None, responses=serializers.TeamOut)
    def switch(self, request: Request, pk: UUID) -> Response:
        """Act in this team from now on."""
        _only_people(self.actor)
        team = self.get_object()
        services.switch_team(user=self.actor.user, team=team)
        return self.shown(team)


class Members(Nouns):
    queryset = Membership.objects.select_related("user", "team")
    serializer_class = serializers.MembershipOut
    needs = {"partial_update": Right.ADMIN, "destroy": Right.READ}
    ordering_fields = ("created", "role")

    @extend_schema(request=serializers.NewRole, responses=serializers.MembershipOut)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        membership = self.get_object()
        return self.shown(services.change_role(membership=membership, by=self.actor, **self.read(serializers.NewRole)))

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        """Leave the team, or remove somebody else, which only owners may."""
        services.remove(membership=self.get_object(), by=self.actor)
        return Response(status=204)


class Invitations(Nouns):
    queryset = Invitation.objects.select_related("created_by")
    serializer_class = serializers.InvitationOut
    needs = {name: Right.ADMIN for name in ("list", "retrieve", "create", "destroy")}
    ordering_fields = ("created", "expires")

    @extend_schema(request=serializers.NewInvitation, responses={201: serializers.NewInvitationOut})
    def create(self, request: Request) -> Response:
        invitation, secret = services.invite(by=self.actor, **self.read(serializers.NewInvitation))
        link = request.build_absolute_uri(reverse("join", args=[secret]))
        return self.shown(invitation, 201, link=link)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        services.revoke_invitation(invitation=self.get_object(), by=self.actor)
        return Response(status=204)


class Tokens(Nouns):
    """Your own tokens. Owners also see the names of the whole team's tokens, never the secrets."""

    queryset = ApiToken.objects.all()
    serializer_class = serializers.TokenOut
    needs = {"create": Right.READ, "destroy": Right.READ}
    ordering_fields = ("created", "name", "last_used")

    def get_queryset(self) -> Any:
        tokens = super().get_queryset()
        if getattr(self, "swagger_fake_view", False) or self.actor.can_admin:
            return tokens
        return tokens.filter(user=self.request.user)

    @extend_schema(request=serializers.NewToken, responses={201: serializers.NewTokenOut})
    def create(self, request: Request) -> Response:
        """Make a token. Its scope may be your own right at most."""
        token, text = services.create_token(by=self.actor, **self.read(serializers.NewToken))
        return self.shown(token, 201, token=text)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: UUID) -> Response:
        services.revoke_token(token=self.get_object(), by=self.actor)
        return Response(status=204)


class AuditTrail(Nouns):
    queryset = AuditEntry.objects.select_related("user")
    serializer_class = serializers.AuditOut
    needs = {"list": Right.ADMIN, "retrieve": Right.ADMIN}


def _only_people(actor: Actor) -> None:
    if actor.token is not None:
        raise Forbidden("A token stands for one team; only a person who is signed in may do this.")

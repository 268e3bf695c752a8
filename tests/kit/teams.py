"""Two teams and their people: alice owns one, bob and victor are in it; charlie of the other must see nothing of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.test import Client
from rest_framework.test import APIClient

from webapp.accounts import actor as actors
from webapp.accounts import services
from webapp.accounts.actor import Actor
from webapp.accounts.models import Membership, Role, Scope, Team, User


@dataclass
class World:
    team: Team
    other_team: Team
    alice: User  # owner
    bob: User  # member
    victor: User  # viewer
    charlie: User  # owner of another team
    tokens: dict[str, str] = field(default_factory=dict)

    def page(self, user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    def api(self, user: User | None) -> APIClient:
        client = APIClient()
        if user is not None:
            client.force_login(user)
        return client

    def script(self, scope: str = "admin") -> APIClient:
        """Alice's program, with a token of this scope."""
        if scope not in self.tokens:
            self.tokens[scope] = services.create_token(
                name=scope, scope=Scope(scope), days=1, by=self.actor(self.alice)
            )[1]
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {self.tokens[scope]}")
        return client

    def actor(self, user: User) -> Actor:
        return actors.of_user(User.objects.get(pk=user.pk))


def a_world() -> World:
    alice, bob, victor, charlie = (
        User.objects.create(username=name, password="!") for name in ("alice", "bob", "victor", "charlie")
    )
    team = services.create_team(name="Alice's lab", by=alice)
    other_team = services.create_team(name="Charlie's lab", by=charlie)
    for user, role in ((bob, Role.MEMBER), (victor, Role.VIEWER)):
        Membership.objects.create(team=team, user=user, role=role)
    return World(team, other_team, alice, bob, victor, charlie)

"""The actor of a request: the user, team and right that views, querysets and services check."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from webapp.accounts.models import ApiToken, Membership, Role, Scope, Team, User
from webapp.accounts.rights import Right
from webapp.core.problems import Forbidden

_NEEDS = {
    Right.READ: "This needs a team; create one, or ask for an invitation.",
    Right.SUBMIT: "Viewers may only look.",
    Right.ADMIN: "Only owners of the team may do this.",
}


@dataclass(frozen=True, slots=True)
class Actor:
    user: User
    team: Team | None
    right: Right
    token: ApiToken | None = None

    @property
    def team_id(self) -> UUID | None:
        return self.team.pk if self.team else None

    @property
    def home(self) -> Team:
        """Return the actor's team; raise Forbidden if there is none."""
        if self.team is None:
            raise Forbidden(_NEEDS[Right.READ])
        return self.team

    @property
    def can_submit(self) -> bool:
        return self.right >= Right.SUBMIT

    @property
    def can_admin(self) -> bool:
        return self.right >= Right.ADMIN

    def require(self, right: Right) -> None:
        if self.right >= right:
            return
        if self.token is not None:
            raise Forbidden(
                f"The token {self.token.name!r} may only {self.right.name.lower()}; this needs {right.name.lower()}.",
                hint="Use a token with a wider scope.",
                code="scope-too-narrow",
            )
        raise Forbidden(_NEEDS[right], hint="Ask an owner of the team." if self.team else "", code="role-too-low")

    @property
    def is_operator(self) -> bool:
        """Whether the actor runs this installation, which is more than owning a team of it."""
        return self.user.is_operator and (self.token is None or self.right >= Right.ADMIN)

    def require_operator(self) -> None:
        if not self.is_operator:
            raise Forbidden("Only the operator of this installation may do this.", code="not-the-operator")


def of_user(user: User) -> Actor:
    """Make the actor of a person, in the team they switched to last, else in their oldest one."""
    own = Membership.objects.filter(user=user).select_related("team")
    last = own.filter(team_id=user.current_team_id).first() if user.current_team_id else None
    chosen = last or own.order_by("created").first()
    if chosen is None:
        return Actor(user, None, Right.NONE)
    return Actor(user, chosen.team, Role(chosen.role).right)


def of_token(token: ApiToken) -> Actor:
    """Make the actor of a token, whose right is never higher than its owner's is today."""
    membership = Membership.objects.filter(user=token.user, team=token.team).first()
    right = min(Role(membership.role).right, Scope(token.scope).right) if membership else Right.NONE
    return Actor(token.user, token.team, right, token)

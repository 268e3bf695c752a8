"""Actions of people and teams. Each is one transaction and leaves an entry in the audit log. Nobody is deleted: what
they made names them."""

from __future__ import annotations

import logging
import secrets as chance
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

from webapp.accounts import actor as actors
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.models import ApiToken, Invitation, Membership, Role, Scope, SignInLink, Team, User
from webapp.accounts.rights import Right
from webapp.core import secrets
from webapp.core.problems import Conflict, Gone, Invalid, NotFound
from webapp.core.secrets import CannotOpen, opened, seal

logger = logging.getLogger("drafthouse.accounts")
MOST_TEAMS = 50
MOST_TOKENS = 100
MOST_OPEN_INVITATIONS = 200
SIGN_IN_LINK_LIFE = timedelta(minutes=30)
LAST_USED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_user(*, username: str, password: str | None = None, name: str = "", is_operator: bool = False) -> User:
    user = User(username=username.lower(), name=name, is_operator=is_operator)
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        taken = any(e.code == "unique" for e in error.error_dict.get("username", []))
        sentence = "This name is taken; choose another." if taken else " ".join(error.messages)
        raise Invalid(sentence, field="username") from None
    _set_password(user, password)
    user.save()
    return user


@transaction.atomic
def call(*, user: User, name: str, by: Actor) -> None:
    """Set the display name; the user still signs in with the username."""
    user.name = name
    user.save(update_fields=["name"])
    audit.record(by, "renamed", user, to=name)


@transaction.atomic
def set_active(*, user: User, is_active: bool, by: Actor) -> None:
    """Deactivate a user, whose password, links, sessions and tokens stop working at once; what they made stays. Or let
    them in again."""
    by.require_operator()
    if user.pk == by.user.pk:
        raise Conflict("You cannot deactivate yourself.", hint="Ask another operator.", code="not-yourself")
    if not User.objects.filter(pk=user.pk, is_active=not is_active).update(is_active=is_active):
        raise Conflict(f"{user} is {'active' if is_active else 'deactivated'} already.")
    audit.record(by, "reactivated" if is_active else "deactivated", user)


@transaction.atomic
def create_team(*, name: str, by: User) -> Team:
    if by.memberships.count() >= MOST_TEAMS:
        raise Conflict(f"You are in {MOST_TEAMS} teams already, which is the most one person can be in.")
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=by, role=Role.OWNER)
    by.current_team = team
    by.save(update_fields=["current_team"])
    audit.record(actors.of_user(by), "created", team)
    return team


@transaction.atomic
def rename_team(*, team: Team, name: str, by: Actor) -> None:
    audit.record(by, "renamed", team, to=name)
    team.name = name
    team.save(update_fields=["name"])


@transaction.atomic
def set_hub_token(*, team: Team, token: str, by: Actor) -> None:
    """Keep the token that fetches the team's models from the Hugging Face hub; an empty one deletes it."""
    by.require(Right.ADMIN)
    audit.record(by, "set the hub token of" if token else "deleted the hub token of", team)
    team.sealed_hub_token = seal(token) if token else ""
    team.save(update_fields=["sealed_hub_token"])


def hub_token(team: Team) -> str:
    """Return the token, or nothing. Only workers ask for it."""
    try:
        return opened(team.sealed_hub_token) if team.has_hub_token else ""
    except CannotOpen:
        raise Invalid(
            f"The Hugging Face token of {team} cannot be read: it was kept under another secret key of this service. "
            "Set it again on the team's page."
        ) from None


@transaction.atomic
def switch_team(*, user: User, team: Team) -> None:
    user.current_team = team
    user.save(update_fields=["current_team"])


@transaction.atomic
def invite(*, role: str, days: int, by: Actor) -> tuple[Invitation, str]:
    """Return an invitation and the secret of its link, which is not stored."""
    by.require(Right.ADMIN)
    if by.home.invitations.open().count() >= MOST_OPEN_INVITATIONS:
        raise Conflict(f"{MOST_OPEN_INVITATIONS} invitations are open; revoke some first.")
    secret = secrets.fresh()
    invitation = Invitation.objects.create(
        team=by.home,
        role=role,
        digest=secrets.digest(secret),
        expires=timezone.now() + timedelta(days=days),
        created_by=by.user,
    )
    audit.record(by, "invited", invitation, role=role)
    return invitation, secret


def find_invitation(secret: str) -> Invitation:
    invitation = Invitation.objects.select_related("team").filter(digest=secrets.digest(secret)).first()
    if invitation is None or not invitation.is_open:
        raise Gone("This invitation was used, revoked or has expired.", hint="Ask for a new link.")
    return invitation


@transaction.atomic
def join(*, secret: str, user: User) -> Team:
    invitation = find_invitation(secret)
    if Membership.objects.filter(team=invitation.team, user=user).exists():
        raise Conflict(f"You are in {invitation.team} already.")
    now = timezone.now()
    # Compare and set: if two people hold the same link, one gets in.
    if not Invitation.objects.open().filter(pk=invitation.pk).update(used_at=now, used_by=user):
        raise Gone("This invitation was used just now.", hint="Ask for a new link.")
    Membership.objects.create(team=invitation.team, user=user, role=invitation.role)
    user.current_team = invitation.team
    user.save(update_fields=["current_team"])
    audit.record(actors.of_user(user), "joined", invitation.team, role=invitation.role)
    return invitation.team


@transaction.atomic
def join_as_new(*, secret: str, username: str, password: str, name: str = "") -> User:
    """Make an account and join with it. If the link no longer works, no account is left behind."""
    find_invitation(secret)
    user = create_user(username=username, password=password, name=name)
    join(secret=secret, user=user)
    return user


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: Actor) -> None:
    by.require(Right.ADMIN)
    if not Invitation.objects.open().filter(pk=invitation.pk).update(revoked_at=timezone.now()):
        raise Conflict("This invitation was used, revoked or has expired already.")
    audit.record(by, "revoked", invitation)


@transaction.atomic
def change_role(*, membership: Membership, role: str, by: Actor) -> Membership:
    by.require(Right.ADMIN)
    membership = _locked(membership)
    if role != Role.OWNER:
        _keep_an_owner(membership)
    audit.record(by, "changed the role of", membership.user, was=membership.role, now=role)
    membership.role = role
    membership.save(update_fields=["role"])
    return membership


@transaction.atomic
def remove(*, membership: Membership, by: Actor) -> None:
    """Remove somebody from the team, or leave it, and revoke their tokens for this team."""
    if membership.user_id != by.user.pk or by.token is not None:
        by.require(Right.ADMIN)
    membership = _locked(membership)
    _keep_an_owner(membership)
    ApiToken.objects.filter(team=membership.team, user=membership.user, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    User.objects.filter(pk=membership.user_id, current_team=membership.team).update(current_team=None)
    verb = "left" if membership.user_id == by.user.pk else "removed"
    audit.record(by, verb, membership.team if verb == "left" else membership.user, team=membership.team)
    membership.delete()


@transaction.atomic
def change_password(*, user: User, current: str, new: str) -> None:
    if user.has_usable_password() and not user.check_password(current):
        raise Invalid("This is not your current password.", field="current")
    _set_password(user, new, field="new")
    user.save(update_fields=["password"])
    audit.record(actors.of_user(user), "changed the password of", user)


@transaction.atomic
def issue_sign_in_link(*, user: User) -> str:
    """Return the secret of a link that signs this user in once, within 30 minutes."""
    secret = secrets.fresh()
    SignInLink.objects.filter(user=user, used_at=None).delete()
    SignInLink.objects.create(user=user, digest=secrets.digest(secret), expires=timezone.now() + SIGN_IN_LINK_LIFE)
    return secret


def sign_in_path(username: str = "") -> str:
    """Return the path of a link that signs somebody in, without a name the first owner, who is made if need be."""
    user = User.objects.filter(username=username.lower(), is_active=True).first() if username else first_owner()
    if user is None:
        raise NotFound(f"There is no user {username!r}; invite them from the team page.")
    return reverse("enter", args=[issue_sign_in_link(user=user)])


@transaction.atomic
def use_sign_in_link(*, secret: str) -> User:
    open_links = SignInLink.objects.filter(
        digest=secrets.digest(secret), used_at=None, expires__gt=timezone.now(), user__is_active=True
    )
    link = open_links.select_related("user").first()
    if link is None or not open_links.update(used_at=timezone.now()):
        raise Gone(
            "This sign-in link was used or has expired.",
            hint="`./drafthouse up` and `./drafthouse token --sign-in` print a new one; or sign in with your password.",
        )
    audit.record(actors.of_user(link.user), "signed in by link", link.user)
    return link.user


@transaction.atomic
def first_owner() -> User:
    """Return the user whom the launcher signs in. The first start makes one without a password."""
    user = User.objects.filter(is_operator=True).order_by("created").first()
    if user is None:
        user = create_user(username="owner", is_operator=True)
        create_team(name="My team", by=user)
    return user


@transaction.atomic
def create_token(*, name: str, scope: str, days: int | None, by: Actor) -> tuple[ApiToken, str]:
    """Return a token and its full text `dh_<key>.<secret>`, which is not stored."""
    by.require(
        Scope(scope).right if by.token is None else Right.ADMIN
    )  # else a token could make others that outlive it
    if by.home.tokens.filter(user=by.user, revoked_at=None).count() >= MOST_TOKENS:
        raise Conflict(f"You hold {MOST_TOKENS} tokens in this team; revoke some first.")
    key, secret = chance.token_hex(8), secrets.fresh()
    token = ApiToken.objects.create(
        team=by.home,
        user=by.user,
        name=name,
        key=key,
        digest=secrets.digest(secret),
        scope=scope,
        expires=timezone.now() + timedelta(days=days) if days else None,
    )
    audit.record(by, "created", token, scope=scope)
    return token, f"dh_{key}.{secret}"


@transaction.atomic
def revoke_token(*, token: ApiToken, by: Actor) -> None:
    if token.user_id != by.user.pk or by.token not in (None, token):
        by.require(Right.ADMIN)
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        raise Conflict("This token is revoked already.")
    audit.record(by, "revoked", token)


def find_token(text: str) -> ApiToken | None:
    """Return the valid token with this text. A wrong key takes as long as a wrong secret."""
    key, _, secret = text.removeprefix("dh_").partition(".")
    token = ApiToken.objects.select_related("user", "team").filter(key=key[:16]).first()
    genuine = secrets.matches(secret, token.digest if token else "")
    if token is None or not genuine or not token.is_valid or not token.user.is_active:
        return None
    _note_use(token)
    return token


def _note_use(token: ApiToken) -> None:
    """Store when the token was used, at most once a minute. If that fails, the request goes on."""
    now = timezone.now()
    if token.last_used is not None and now - token.last_used <= LAST_USED_EVERY:
        return
    try:
        with transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(last_used=now)
    except DatabaseError as error:
        logger.warning("the use of token %s could not be noted (%s)", token.key, error)


def _set_password(user: User, password: str | None, field: str = "password") -> None:
    if password is None:
        user.set_unusable_password()
        return
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field=field) from None
    user.set_password(password)


def _locked(membership: Membership) -> Membership:
    """Lock the whole team's memberships, so that two owners cannot both be the last to go."""
    team = Membership.objects.select_for_update().select_related("user", "team").filter(team=membership.team_id)
    return next(m for m in team if m.pk == membership.pk)


def _keep_an_owner(membership: Membership) -> None:
    owners = Membership.objects.filter(team=membership.team, role=Role.OWNER)
    if membership.role == Role.OWNER and owners.count() == 1:
        raise Conflict(
            f"{membership.user} is the last owner of {membership.team}.",
            hint="Make someone else an owner first.",
            code="last-owner",
        )

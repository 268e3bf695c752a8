"""Users, teams and memberships, and the links and tokens that let people and programs in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property

from webapp.accounts.rights import Acting, Right
from webapp.core.models import Noun


class Role(models.TextChoices):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"

    @property
    def right(self) -> Right:
        return {"owner": Right.ADMIN, "member": Right.SUBMIT, "viewer": Right.READ}[self.value]


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(username=(username or "").lower())


class User(AbstractBaseUser, Noun):
    username = models.CharField(
        max_length=40,
        unique=True,
        validators=[
            RegexValidator(r"^[a-z0-9][a-z0-9._-]{1,39}\Z", "Two to forty of a-z, 0-9, dot, dash, underscore.")
        ],
    )
    name = models.CharField(max_length=80, blank=True)
    is_active = models.BooleanField(default=True)
    is_operator = models.BooleanField(default=False)  # may see /system
    current_team = models.ForeignKey("Team", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    objects = UserManager()
    USERNAME_FIELD = "username"

    def __str__(self) -> str:
        return self.name or self.username

    @cached_property
    def memberships_with_teams(self) -> list[Membership]:
        """Memberships and their teams in one query, for menus."""
        return list(self.memberships.select_related("team").order_by("created"))


class TeamQuerySet(models.QuerySet["Team"]):
    def visible_to(self, actor: Acting) -> TeamQuerySet:
        """Teams of a person, or the one team of a token."""
        if actor.token is not None:
            return self.filter(pk=actor.home.pk)
        return self.filter(memberships__user=actor.user)


class Team(Noun):
    name = models.CharField(max_length=80)
    sealed_hub_token = models.TextField(blank=True, default="", editable=False)  # core.secrets

    objects = TeamQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    @property
    def has_hub_token(self) -> bool:
        return bool(self.sealed_hub_token)


class Owned(models.QuerySet[Any]):
    """Rows of one team."""

    def visible_to(self, actor: Acting) -> Any:
        return self.filter(team_id=actor.team_id) if actor.right else self.none()


class Membership(Noun):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)

    objects = Owned.as_manager()

    class Meta:
        ordering = ["created"]
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team_and_user"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_is_known"),
        ]


class InvitationQuerySet(Owned):
    def open(self) -> InvitationQuerySet:
        return self.filter(used_at=None, revoked_at=None, expires__gt=timezone.now())


class Invitation(Noun):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        constraints = [models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_is_known")]

    @property
    def is_open(self) -> bool:
        return self.used_at is None and self.revoked_at is None and self.expires > timezone.now()


class SignInLink(Noun):
    """A link that signs in once without a password: the first owner's way in."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Scope(models.TextChoices):
    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"

    @property
    def right(self) -> Right:
        return Right[self.name]


class ApiToken(Noun):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    key = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    expires = models.DateTimeField(null=True)
    last_used = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = Owned.as_manager()

    class Meta:
        ordering = ["-created"]
        constraints = [models.CheckConstraint(condition=Q(scope__in=Scope.values), name="token_scope_is_known")]

    @property
    def is_valid(self) -> bool:
        return self.revoked_at is None and (self.expires is None or self.expires > timezone.now())


class AuditEntry(Noun):
    """Record of who did what. Written in the transaction of the change, and never altered."""

    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey(ApiToken, null=True, on_delete=models.SET_NULL, related_name="+")
    verb = models.CharField(max_length=40)
    subject = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=40, blank=True)
    subject_name = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True)

    objects = Owned.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["team", "-created"], name="audit_by_team")]

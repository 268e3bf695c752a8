import uuid

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import migrations, models
from django.db.models import CASCADE, SET_NULL
from django.utils import timezone

from webapp.core.migrating import key, noun, table


class Migration(migrations.Migration):
    replaces = [("accounts", "0002_team_hub_token")]
    initial = True
    dependencies = []
    operations = [
        table(
            "User",
            {
                "password": models.CharField(verbose_name="password", max_length=128),
                "last_login": models.DateTimeField(verbose_name="last login", blank=True, null=True),
                "id": models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False, serialize=False),
                "created": models.DateTimeField(default=timezone.now, editable=False),
                "username": models.CharField(
                    max_length=40,
                    unique=True,
                    validators=[
                        RegexValidator(
                            "^[a-z0-9][a-z0-9._-]{1,39}\\Z", "Two to forty of a-z, 0-9, dot, dash, underscore."
                        )
                    ],
                ),
                "name": models.CharField(max_length=80, blank=True),
                "is_active": models.BooleanField(default=True),
                "is_operator": models.BooleanField(default=False),
            },
            abstract=False,
        ),
        table(
            "Team",
            {
                **noun(),
                "name": models.CharField(max_length=80),
                "sealed_hub_token": models.TextField(blank=True, default="", editable=False),
            },
            abstract=False,
        ),
        table(
            "ApiToken",
            {
                **noun(),
                "name": models.CharField(max_length=80),
                "key": models.CharField(max_length=16, unique=True),
                "digest": models.CharField(max_length=64),
                "scope": models.CharField(
                    max_length=10, choices=[("read", "Read"), ("submit", "Submit"), ("admin", "Admin")]
                ),
                "expires": models.DateTimeField(null=True),
                "last_used": models.DateTimeField(null=True),
                "revoked_at": models.DateTimeField(null=True),
                "user": key(settings.AUTH_USER_MODEL, CASCADE, "tokens"),
                "team": key("accounts.team", CASCADE, "tokens"),
            },
            ordering=["-created"],
        ),
        table(
            "SignInLink",
            {
                **noun(),
                "digest": models.CharField(max_length=64, unique=True),
                "expires": models.DateTimeField(),
                "used_at": models.DateTimeField(null=True),
                "user": key(settings.AUTH_USER_MODEL),
            },
            abstract=False,
        ),
        migrations.AddField("user", "current_team", key("accounts.team", SET_NULL, blank=True, null=True)),
        table(
            "Membership",
            {
                **noun(),
                "role": models.CharField(
                    max_length=10, choices=[("owner", "Owner"), ("member", "Member"), ("viewer", "Viewer")]
                ),
                "user": key(settings.AUTH_USER_MODEL, CASCADE, "memberships"),
                "team": key("accounts.team", CASCADE, "memberships"),
            },
            ordering=["created"],
            constraints=[
                models.UniqueConstraint(fields=("team", "user"), name="one_membership_per_team_and_user"),
                models.CheckConstraint(
                    condition=models.Q(("role__in", ["owner", "member", "viewer"])), name="membership_role_is_known"
                ),
            ],
        ),
        table(
            "Invitation",
            {
                **noun(),
                "role": models.CharField(
                    max_length=10, choices=[("owner", "Owner"), ("member", "Member"), ("viewer", "Viewer")]
                ),
                "digest": models.CharField(max_length=64, unique=True),
                "expires": models.DateTimeField(),
                "used_at": models.DateTimeField(null=True),
                "revoked_at": models.DateTimeField(null=True),
                "created_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "used_by": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", CASCADE, "invitations"),
            },
            ordering=["-created"],
            constraints=[
                models.CheckConstraint(
                    condition=models.Q(("role__in", ["owner", "member", "viewer"])), name="invitation_role_is_known"
                )
            ],
        ),
        table(
            "AuditEntry",
            {
                **noun(),
                "verb": models.CharField(max_length=40),
                "subject": models.CharField(max_length=40),
                "subject_id": models.CharField(max_length=40, blank=True),
                "subject_name": models.CharField(max_length=200, blank=True),
                "detail": models.JSONField(default=dict),
                "request_id": models.CharField(max_length=64, blank=True),
                "token": key("accounts.apitoken", SET_NULL, null=True),
                "user": key(settings.AUTH_USER_MODEL, SET_NULL, null=True),
                "team": key("accounts.team", SET_NULL, null=True),
            },
            ordering=["-created"],
            indexes=[models.Index(fields=["team", "-created"], name="audit_by_team")],
        ),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(
                condition=models.Q(("scope__in", ["read", "submit", "admin"])), name="token_scope_is_known"
            ),
        ),
    ]

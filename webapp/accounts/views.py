"""Pages for people: signing in, joining, the team, the account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import auth, messages
from django.db.models import Case, Value, When
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from webapp.accounts import serializers, services
from webapp.accounts.asked import ActorRequest
from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Role, Scope, Team, User
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.limits import Limit
from webapp.core.pages import form_page, listing, one, page
from webapp.core.problems import Gone, Invalid, Problem, TooMany
from webapp.core.proxies import address_of
from webapp.core.tallies import sign_ins_refused
from webapp.core.views import of_problem

Found = TypeVar("Found")
# Only failures count. BY_NAME counts name and address together, so that a stranger cannot lock the owner out elsewhere.
BY_ADDRESS = Limit("sign-in-address", count=30, seconds=900)
BY_NAME = Limit("sign-in-name", count=10, seconds=900)
CHANGES = Limit("change-password", count=10, seconds=900)
LONGEST_PATH = 4000  # characters, query included


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: ActorRequest) -> HttpResponse:
    onward = _onward(request)
    if request.user.is_authenticated:
        return redirect(onward)
    form = Form(serializers.SignIn, request)

    def enter(username: str, password: str) -> User:
        address = address_of(request)
        name = f"{username.lower()} {address}"
        with BY_ADDRESS.on_failure(address), BY_NAME.on_failure(name):
            user = auth.authenticate(request, username=username, password=password)
            if user is None:
                sign_ins_refused.labels("password").inc()
                raise Invalid("The name or the password is wrong.")
        BY_NAME.forget(name)
        auth.login(request, user)
        return user

    try:
        user = form.submit(enter)
    except TooMany as problem:
        return of_problem(request, problem)
    if user:
        return redirect(onward)
    return form_page(request, "accounts/sign_in.html", form, next=onward)


@require_POST
def sign_out(request: ActorRequest) -> HttpResponse:
    auth.logout(request)
    return redirect("sign-in")


@require_http_methods(["GET", "POST"])
def enter(request: ActorRequest, secret: str) -> HttpResponse:
    """Sign in by a one-time link. GET changes nothing, so that a preview of the link does not use it up."""
    if request.method == "GET":
        return render(request, "accounts/enter.html")
    try:
        user = _by_link(request, lambda: services.use_sign_in_link(secret=secret))
    except Problem as problem:
        return of_problem(request, problem)
    auth.login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("home")


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def join(request: ActorRequest, secret: str) -> HttpResponse:
    try:
        invitation = _by_link(request, lambda: services.find_invitation(secret))
        if request.user.is_authenticated:
            return _join_as(request, secret, invitation)
    except Problem as problem:
        return of_problem(request, problem)
    form = Form(serializers.NewAccount, request)
    user = form.submit(lambda **account: services.join_as_new(secret=secret, **account))
    if user is None:
        return form_page(request, "accounts/join.html", form, invitation=invitation)
    auth.login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    messages.success(request, f"Welcome to {invitation.team}.")
    return redirect("home")


def _by_link(request: ActorRequest, use: Callable[[], Found]) -> Found:
    """Find what a link leads to. A wrong link counts against the sender's address; a valid one always works."""
    try:
        return use()
    except Gone:
        sign_ins_refused.labels("link").inc()
        BY_ADDRESS.spend(address_of(request))
        raise


def _join_as(request: ActorRequest, secret: str, invitation: Invitation) -> HttpResponse:
    if request.method == "GET":
        return render(request, "accounts/join.html", {"invitation": invitation})
    team = services.join(secret=secret, user=request.user)
    messages.success(request, f"Welcome to {team}.")
    return redirect("home")


@sensitive_post_parameters("current", "new")
@page(Right.NONE, ("GET", "POST"))
def account(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewPassword, request)

    def change(current: str, new: str) -> bool:
        with CHANGES.on_failure(str(request.user.pk)):
            services.change_password(user=request.user, current=current, new=new)
        auth.update_session_auth_hash(request, request.user)
        return True

    if form.submit(change):
        messages.success(request, "Your password is changed; every other browser is signed out.")
        return redirect("account")
    return _account(request, form)


@page(Right.NONE, ("POST",))
def change_name(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewDisplayName, request)

    def change(name: str) -> bool:
        services.call(user=request.user, name=name, by=request.actor)
        return True

    if form.submit(change):
        messages.success(request, f"Others see the name {request.user} now.")
        return redirect("account")
    return _account(request, Form(serializers.NewPassword), form)


def _account(request: ActorRequest, form: Form, called: Form | None = None) -> HttpResponse:
    called = called or Form(serializers.NewDisplayName, initial={"name": request.user.name})
    status = max(_status(form), _status(called))
    return render(request, "accounts/account.html", {"form": form, "called": called}, status=status)


@page(Right.NONE)
def users(request: ActorRequest) -> HttpResponse:
    """List everybody who ever joined, for the operator."""
    request.actor.require_operator()
    state = Case(When(is_active=True, then=Value("active")), default=Value("deactivated"))
    rows = User.objects.prefetch_related("memberships__team").annotate(state=state)
    found = listing(
        request, rows, search=("username", "name"), ordering=("created", "username", "last_login"),
        filters={"state": ["active", "deactivated"]},
    )  # fmt: skip
    return render(request, "accounts/users.html", {"list": found})


@page(Right.NONE, ("POST",))
def set_active(request: ActorRequest, id: UUID, is_active: bool) -> HttpResponse:
    request.actor.require_operator()
    user = one(User.objects.all(), id)
    services.set_active(user=user, is_active=is_active, by=request.actor)
    if is_active:
        messages.success(request, f"{user} can sign in again.")
    else:
        messages.success(request, f"{user} cannot sign in any more.", extra_tags=reverse("reactivate", args=[id]))
    return redirect("users")


@page(Right.READ, ("GET", "POST"))
def tokens(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewToken, request)
    made = form.submit(lambda **asked: services.create_token(by=request.actor, **asked))
    mine = listing(
        request, ApiToken.objects.visible_to(request.actor).filter(user=request.user), search=("name", "key"),
        ordering=("created", "name", "scope", "last_used", "expires"), filters={"scope": Scope.values},
    )  # fmt: skip
    return form_page(request, "accounts/tokens.html", form, made=made, list=mine, api=reverse("tokens-list"))


@page(Right.READ, ("POST",))
def revoke_token(request: ActorRequest, id: UUID) -> HttpResponse:
    mine = ApiToken.objects.visible_to(request.actor)
    token = one(mine if request.actor.can_admin else mine.filter(user=request.user), id)
    services.revoke_token(token=token, by=request.actor)
    messages.success(request, f"{token.name} is revoked; nobody can use it any more.")
    return redirect("tokens")


@page(Right.READ, ("GET", "POST"))
def team(request: ActorRequest) -> HttpResponse:
    """Show the team's members; owners invite here."""
    form = Form(serializers.NewInvitation, request)
    link = ""
    if made := form.submit(lambda **asked: services.invite(by=request.actor, **asked)):
        link = request.build_absolute_uri(reverse("join", args=[made[1]]))
    people = listing(
        request, Membership.objects.visible_to(request.actor).select_related("user"),
        search=("user__username", "user__name"), ordering=("created", "role", "user__username"),
        filters={"role": Role.values}, usual="created",
    )  # fmt: skip
    context: dict[str, Any] = {
        "form": form,
        "hub_token": Form(serializers.HubToken),
        "link": link,
        "list": people,
        "invitations": Invitation.objects.visible_to(request.actor).open().select_related("created_by"),
        "roles": Role.choices,
        "api": reverse("invitations-list"),
    }
    status = 403 if form.bound is not None and not request.actor.can_admin else _status(form)
    return render(request, "accounts/team.html", context, status=status)


@page(Right.NONE, ("GET", "POST"))
def new_team(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.TeamName, request)
    if made := form.submit(lambda name: services.create_team(name=name, by=request.user)):
        messages.success(request, f"{made} is made, and you are its owner.")
        return redirect("team")
    return form_page(request, "accounts/new_team.html", form)


@page(Right.NONE, ("POST",))
def switch_team(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Team.objects.visible_to(request.actor), id)
    services.switch_team(user=request.user, team=found)
    return redirect(_onward(request))


@page(Right.ADMIN, ("POST",))
def set_hub_token(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Team.objects.visible_to(request.actor).filter(pk=request.actor.home.pk), id)
    form = Form(serializers.HubToken, request)
    by = request.actor
    if form.submit(lambda hub_token="": services.set_hub_token(team=found, token=hub_token, by=by) or found):
        messages.success(request, "The token is set." if found.has_hub_token else "No token is set now.")
    else:
        messages.error(request, f"Nothing was saved. {form.refusal}")
    return redirect("team")


@page(Right.ADMIN, ("POST",))
def change_role(request: ActorRequest, id: UUID) -> HttpResponse:
    membership = one(Membership.objects.visible_to(request.actor), id)
    form = Form(serializers.NewRole, request)
    changed = form.submit(lambda role: services.change_role(membership=membership, role=role, by=request.actor))
    if changed is None:
        return of_problem(request, form.problem or Invalid(form.refusal))
    messages.success(request, f"{changed.user} is now {changed.role}.")
    return redirect("team")


@page(Right.READ, ("POST",))
def remove_member(request: ActorRequest, id: UUID) -> HttpResponse:
    membership = one(Membership.objects.visible_to(request.actor).select_related("user", "team"), id)
    services.remove(membership=membership, by=request.actor)
    if membership.user_id == request.user.pk:
        messages.success(request, f"You have left {membership.team}.")
        return redirect("home")
    messages.success(request, f"{membership.user} is no longer in the team.")
    return redirect("team")


@page(Right.ADMIN, ("POST",))
def revoke_invitation(request: ActorRequest, id: UUID) -> HttpResponse:
    services.revoke_invitation(invitation=one(Invitation.objects.visible_to(request.actor), id), by=request.actor)
    messages.success(request, "The invitation is revoked.")
    return redirect("team")


@page(Right.ADMIN)
def audit_log(request: ActorRequest) -> HttpResponse:
    entries = AuditEntry.objects.visible_to(request.actor).select_related("user", "token")
    found = listing(request, entries, search=("verb", "subject_name", "user__username"), ordering=("created", "verb"))
    return render(request, "accounts/audit.html", {"list": found})


def _onward(request: ActorRequest) -> str:
    """Return the page to go on to: the one that was asked for if it is a path of ours, else the first."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = asked.startswith("/") and len(asked) <= LONGEST_PATH and url_has_allowed_host_and_scheme(asked, None)
    return asked if is_ours else reverse("home")


def _status(form: Form) -> int:
    return 422 if form.errors else 200

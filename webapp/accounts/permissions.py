"""Rights that API views need: READ to read, SUBMIT for anything else, unless the view sets another for an action."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import NotSignedIn


class SignedIn(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, Actor):
            raise NotSignedIn(
                "Nobody is signed in.", hint="Send `Authorization: Bearer dh_<key>.<secret>`, or sign in."
            )
        return True


class HasRight(SignedIn):
    def has_permission(self, request: Request, view: Any) -> bool:
        super().has_permission(request, view)
        usual = Right.READ if request.method in SAFE_METHODS else Right.SUBMIT
        needs: dict[str, Right] = getattr(view, "needs", {})
        actor: Any = request.auth
        actor.require(needs.get(getattr(view, "action", None) or "", usual))
        return True

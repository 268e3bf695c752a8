"""Rights that API views need: READ to read, SUBMIT for anything else, unless the view sets another for an action.
A view may also be for the operator alone."""

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
        actor: Any = request.auth
        actor.require(_right(view, request.method))
        if getattr(view, "for_operator", False):
            actor.require_operator()
        return True

    def needed(self, view: Any, method: str) -> str:
        """Name the right that an operation needs, for the schema."""
        return "operator" if getattr(view, "for_operator", False) else _right(view, method).name.lower()


def _right(view: Any, method: str | None) -> Right:
    usual = Right.READ if method in SAFE_METHODS else Right.SUBMIT
    needs: dict[str, Right] = getattr(view, "needs", {})
    return needs.get(getattr(view, "action", None) or "", usual)

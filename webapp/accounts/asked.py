"""A request to a page, as our middleware leaves it."""

from django.http import HttpRequest

from webapp.accounts.actor import Actor
from webapp.accounts.models import User


class Asked(HttpRequest):
    actor: Actor
    user: User

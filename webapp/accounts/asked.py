"""A page request, with the actor and user that our middleware sets."""

from django.http import HttpRequest

from webapp.accounts.actor import Actor
from webapp.accounts.models import User


class ActorRequest(HttpRequest):
    actor: Actor
    user: User

"""The ladder of rights. Roles and token scopes are rungs of it; each right includes those below."""

from enum import IntEnum
from typing import Any, Protocol
from uuid import UUID


class Right(IntEnum):
    NONE = 0
    READ = 1
    SUBMIT = 2
    ADMIN = 3


class Acting(Protocol):
    """View of an `actor.Actor` that querysets need. Models cannot import the class: it is made of them."""

    @property
    def user(self) -> Any: ...
    @property
    def home(self) -> Any: ...
    @property
    def team_id(self) -> UUID | None: ...
    @property
    def right(self) -> Right: ...
    @property
    def token(self) -> Any: ...

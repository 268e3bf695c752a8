"""The one ladder of rights. Roles and token scopes are rungs on it, and whoever stands higher may do all below."""

from enum import IntEnum


class Right(IntEnum):
    NONE = 0
    READ = 1
    SUBMIT = 2
    ADMIN = 3

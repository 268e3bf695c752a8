"""Rights in ascending order, for roles and token scopes. Each includes those below it."""

from enum import IntEnum


class Right(IntEnum):
    NONE = 0
    READ = 1
    SUBMIT = 2
    ADMIN = 3

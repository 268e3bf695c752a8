"""Both places where chunks may lie."""

from tests.kit.stores import *  # noqa: F403

"""A Valkey, a comparison that runs, and a page that watches it."""

from tests.kit.live import *  # noqa: F403

from tests.kit.service import *  # noqa: F403  a world, and the settings of tests

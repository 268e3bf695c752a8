"""Mark of tests that need Linux."""

import sys

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or chooses cores")

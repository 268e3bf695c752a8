from pathlib import Path

import pytest

from tests.kit.terminal import make_box


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target, a draft and eight prompts, which no test changes."""
    return make_box(tmp_path_factory.mktemp("box"))

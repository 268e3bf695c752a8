"""Models from the Hugging Face hub: fetched once by each machine that runs them. Weights as safetensors alone."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from decoding.errors import BadCheckpoint

WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]


class Unreachable(Exception):
    """The hub does not answer from here; another machine may reach it."""


def fetched(hub_id: str, revision: str, models: Path) -> Path:
    name = hashlib.sha256(f"{hub_id}@{revision}".encode()).hexdigest()[:32]
    folder = models / f"hub-{name}"
    if folder.exists():
        return folder
    models.mkdir(exist_ok=True)
    growing = Path(tempfile.mkdtemp(dir=models, prefix="growing-"))
    try:
        _fetch(hub_id, revision, growing)
        growing.rename(folder)  # whole or not at all
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return folder


def _fetch(hub_id: str, revision: str, folder: Path) -> None:
    from huggingface_hub import errors, snapshot_download  # seldom needed, and not small

    try:
        snapshot_download(hub_id, revision=revision or None, local_dir=folder, allow_patterns=WANTED)
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.GatedRepoError) as error:
        raise BadCheckpoint(
            f"The hub gives no {hub_id}{f' at {revision}' if revision else ''}: {str(error).splitlines()[0]} Check the "
            "name; for a gated model set HF_TOKEN where the workers run."
        ) from None
    except Exception as error:  # whatever the network and its libraries raise
        raise Unreachable(
            f"{hub_id} could not be fetched from the hub ({type(error).__name__}). Is this machine connected? "
            "A model can also be uploaded, or named by a path."
        ) from None

"""From a row of the registry to a folder on this machine's disk. Uploads are put together once and kept by content, so
two models of the same files are one folder, and a worker on another machine fetches nothing twice."""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from django.conf import settings

from decoding import prompts
from webapp.registry.models import Classifier, LanguageModel, Pair, Prompt, Readiness
from webapp.uploads.models import Upload
from webapp.uploads.reading import FileReader
from worker import hub
from worker.messages import PairPlace

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def prompt_of(row: Prompt) -> prompts.Prompt:
    return prompts.Prompt(row.name, row.text, row.category, row.split, row.reference)


class NotHere(Exception):
    """This machine does not have the model; the message says why."""


def place_of(
    pair: Pair, queue: str, classifiers: Iterable[Classifier] = (), may_go_on: Callable[[], bool] = lambda: True
) -> PairPlace:
    return PairPlace(
        target=folder_of(pair.target, may_go_on),
        draft=folder_of(pair.draft, may_go_on),
        device=device_of(queue),
        classifiers={str(classifier.pk): _assembled(classifier.upload) for classifier in classifiers},
    )


def device_of(queue: str) -> str:
    """A worker for `gpu` sees one device alone, whichever that is."""
    return "cpu" if queue == "cpu" else "cuda:0"


def folder_of(model: LanguageModel, may_go_on: Callable[[], bool]) -> Path:
    """Fetched first where it is not here yet, for as long as we may go on."""
    if model.state == Readiness.REFUSED:
        raise NotHere(f"{model.name} was refused: {model.reason}")
    if model.upload is not None:
        return _assembled(model.upload)
    if model.source == LanguageModel.Source.HUB:
        try:
            return hub.fetched(model.location, model.revision, Path(settings.DATA_DIR) / "models", may_go_on)
        except hub.Unreachable as trouble:
            raise NotHere(str(trouble)) from None
    path = Path(model.location)
    if not path.is_dir():
        raise NotHere(f"{model.name} should be in {path}, and this worker's machine has no such folder.")
    return path


def cached() -> list[dict[str, str | int]]:
    """The models that lie here whole, and how large each is."""
    folders = sorted((Path(settings.DATA_DIR) / "models").glob("*"))
    return [{"name": one.name, "bytes": _bytes(one)} for one in folders if not one.name.startswith("growing-")]


def _bytes(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError:
        return 0  # somebody is taking it away


def _assembled(upload: Upload) -> Path:
    files = list(upload.files.all())
    manifest = "\n".join(f"{file.path} {' '.join(file.chunks)}" for file in files)
    models = Path(settings.DATA_DIR) / "models"
    folder = models / hashlib.sha256(manifest.encode()).hexdigest()[:32]
    if folder.exists():
        return folder
    models.mkdir(exist_ok=True)
    growing = Path(tempfile.mkdtemp(dir=models, prefix="growing-"))
    try:
        for file in files:
            with (growing / PurePosixPath(file.path).name).open("wb") as out:
                shutil.copyfileobj(FileReader(file, upload.team_id), out, 1024 * 1024)
        growing.rename(folder)  # whole or not at all; of two who build it at once, either will do
    except OSError as error:
        if error.errno in NO_ROOM:
            raise NotHere(f"There is no room for {upload.name} in {models}; make some, and try again.") from None
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    return folder

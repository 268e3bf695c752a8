"""Bring the models of the registry to this machine's disk. They are kept by content: two models of the same files are
one folder, and nothing is fetched twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings

from decoding.errors import BadCheckpoint
from decoding.models.files import gguf_at
from webapp.accounts.services import hub_token
from webapp.core import logs, modes
from webapp.core.hub import HubModel
from webapp.core.problems import Invalid
from webapp.jobs.models import Queue
from webapp.registry import checkpoints
from webapp.registry.models import LanguageModel, Pair, Readiness
from webapp.registry.services import may_be_opened
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader
from worker import hub
from worker.cache import FileCache, NoRoom
from worker.database import Stopped
from worker.gguf_folders import folder_of_gguf
from worker.hub import OnProgress, ignore
from worker.messages import LocalPair
from worker.pulse import Hold

PIECE = 1024 * 1024  # bytes copied between two looks at whether we may go on


class NotHere(Exception):
    """A model that this machine does not have and cannot get; the message says why."""


def local_pair(
    hold: Hold, pair: Pair, classifiers: Iterable[Classifier] = (), on_progress: OnProgress = ignore
) -> LocalPair:
    """Bring a pair here. `on_progress` hears how many bytes of how many."""
    return LocalPair(
        target=folder_of(hold, pair.target, on_progress),
        draft=folder_of(hold, pair.draft, on_progress) if pair.draft else None,
        device=device_of(hold.job.queue),
        classifiers={str(one.pk): _assembled(hold, one.upload, classifying.files(one.upload)) for one in classifiers},
        other_tokenizer=pair.other_tokenizer,
    )


def device_of(queue: str) -> str:
    """Name the device for torch. A worker for `gpu` sees only one, so its number is 0."""
    return "cuda:0" if queue == Queue.GPU else "cpu"


def folder_of(hold: Hold, model: LanguageModel, on_progress: OnProgress = ignore) -> Path:
    """Fetch the model if it is not here yet, and make a folder of a GGUF file. It stays here until the job ends."""
    if model.state == Readiness.REFUSED:
        raise NotHere(f"{model.name} was refused: {model.reason}")
    try:
        is_path = model.source == LanguageModel.Origin.PATH
        path = _at_path(model) if is_path else _brought(hold, model, on_progress)
        folder = _unpacked(hold, model, path, on_progress)
    except NoRoom as trouble:
        raise NotHere(f"{model.name} cannot be kept here. {trouble}") from None
    except hub.Unreachable as trouble:
        raise NotHere(str(trouble)) from None
    if not is_path or folder != path:
        hold.names[folder] = model.name
    return folder


def _at_path(model: LanguageModel) -> Path:
    path = Path(model.location)
    if not may_be_opened(model.location):  # the row may come from a stranger's backup
        raise NotHere(
            f"{model.name} should be in {path}, which DRAFTHOUSE_MODEL_ROOTS does not allow this worker to open."
        )
    if not path.exists():
        raise NotHere(f"{model.name} should be in {path}, and this worker's machine has no such folder.")
    return path


def _unpacked(hold: Hold, model: LanguageModel, path: Path, on_progress: OnProgress) -> Path:
    """Return the path, or the folder made of the GGUF file that it names."""
    try:
        file = gguf_at(path)
        if file is None:
            return path
        hold.names[file] = model.name
        return folder_of_gguf(file, _cache(), hold.using, hold.may_go_on, on_progress)
    except BadCheckpoint as refusal:
        raise BadCheckpoint(hold.in_words(str(refusal))) from None


def _brought(hold: Hold, model: LanguageModel, on_progress: OnProgress) -> Path:
    if model.upload is not None:
        return _assembled(hold, model.upload, checkpoints.in_one_folder(list(model.upload.files.all())), on_progress)
    return _from_hub(hold, model, on_progress)


def restrict() -> None:
    """Restrict all models on this disk to their owner, as an older version did not."""
    for name in ("models", "gguf"):
        modes.tighten_all(Path(settings.DATA_DIR) / name)


def _cache() -> FileCache:
    return FileCache(Path(settings.DATA_DIR) / "models", settings.MODEL_CACHE_BYTES)


def _assembled(hold: Hold, upload: Upload, files: Mapping[str, UploadedFile], on_progress: OnProgress = ignore) -> Path:
    """Put an upload's files into one folder, under the names by which the web process examined them."""
    manifest = "\n".join(f"{name} {' '.join(file.chunks)}" for name, file in files.items())
    size = sum(file.size for file in files.values())

    def fill(folder: Path) -> None:
        done = 0
        for name, file in files.items():
            reader = FileReader(file, upload.team_id)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("xb") as out:
                while piece := reader.read(PIECE):
                    out.write(piece)
                    done += len(piece)
                    on_progress(done, size)
                    if not hold.may_go_on():
                        raise Stopped

    name = hashlib.sha256(manifest.encode()).hexdigest()[:32]
    return _cache().use(name, size, fill, hold.using)


def _from_hub(hold: Hold, model: LanguageModel, on_progress: OnProgress) -> Path:
    """Find or fetch one commit. The first fetch pins it, so that every machine gets the same, and asks the hub whether
    the team may have it: other teams' models lie in the same cache."""
    commit = str(model.facts.get("commit", ""))
    source = HubModel(model.location, commit or model.revision)
    try:
        token = hub_token(model.team)
    except Invalid as trouble:
        raise NotHere(str(trouble)) from None
    logs.hide(token)
    folder = hub.fetch(source, hold.may_go_on, on_progress, token=token, must_ask=not commit)
    model.facts["commit"] = folder.name
    return folder

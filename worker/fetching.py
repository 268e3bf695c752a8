"""Bring a model of the hub into the cache that all Hugging Face tools share. This runs in a process of its own."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import HfApi, constants, errors, snapshot_download, try_to_load_from_cache
from huggingface_hub.utils import filter_repo_objects  # type: ignore[attr-defined]  # public by its documents
from huggingface_hub.utils.tqdm import tqdm

from decoding.errors import BadCheckpoint
from decoding.models.folder import inspect
from decoding.models.kinds import other_kind
from webapp.core.disk import is_disk_full
from webapp.core.hub import HubModel
from worker import apart
from worker.disk import DISK_FULL, NotNow
from worker.hub import Unreachable

WANTED: dict[str, Any] = {
    "allow_patterns": ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"],
    "ignore_patterns": ["*/*", "consolidated*"],  # parts of other programs' models, and the weights once more
}
WEIGHTS_ELSEWHERE = {".gguf": "GGUF", ".bin": "pickled", ".pt": "pickled", ".pth": "pickled"}
SHA1, SHA256 = 40, 64  # hexadecimal digits
TAKE_A_TOKEN = "give a token of an account that may have it: HF_TOKEN, or in the lab the token on the team's page"
FETCH_AGAIN = "Fetch the model again; if that does not help, something between here and the hub changes files."
UPLOAD_INSTEAD = "A model can also be uploaded, or named by a path."


def fetch(hub_id: str, revision: str, *ask: str) -> str:
    """Return the folder, and say how many bytes are `done` and `due`. With `ask` the hub is asked whether the token may
    have the model, even where the cache holds it."""
    try:
        return _fetched(hub_id, revision, bool(ask))
    except Exception as error:  # whatever the network and its libraries raise
        raise _in_words(error, hub_id, revision) from None


def _fetched(hub_id: str, revision: str, must_ask: bool) -> str:
    api = HfApi()
    if constants.is_offline_mode():
        return _cached(hub_id, revision)
    if not must_ask and (folder := _whole(hub_id, revision)):
        return folder
    try:
        commit = api.resolve_revision(hub_id, revision=revision or None)  # notes for other tools what `main` is today
        if must_ask:
            api.auth_check(hub_id)
        listed = api.model_info(hub_id, revision=commit.resolved, files_metadata=True).siblings or []
    except (httpx2.TransportError, errors.RevisionResolutionError, errors.HfHubHTTPError) as error:
        if not must_ask and _is_away(error):
            with suppress(errors.LocalEntryNotFoundError):
                return _cached(hub_id, revision)
        raise
    files = {file.rfilename: file for file in listed}
    wanted = [*filter_repo_objects(files, **WANTED)]
    _require_model(hub_id, wanted, files)
    missing = [name for name in wanted if not _is_cached(hub_id, name, commit.resolved)]
    due = sum(files[name].size or 0 for name in missing)
    apart.say(done=0, due=due)
    folder = str(snapshot_download(hub_id, revision=commit, tqdm_class=_counter(due), **WANTED))
    for name in missing:
        file = Path(folder) / name
        _require_content(hub_id, files[name], file)
        for part in file.resolve().parent.glob(f"{file.resolve().name}.*.incomplete"):
            part.unlink()  # a fetch that was killed left it; the library never continues one
    return folder


def _is_away(error: Exception) -> bool:
    return (
        not isinstance(error, errors.HfHubHTTPError) or error.response.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR
    )


def _cached(hub_id: str, revision: str) -> str:
    return str(snapshot_download(hub_id, revision=revision or None, local_files_only=True, **WANTED))


def _whole(hub_id: str, revision: str) -> str:
    """Folder of a commit that lies in the cache with all that a model needs; empty: ask the hub."""
    if HubModel(hub_id, revision).is_pinned:
        with suppress(BadCheckpoint, errors.LocalEntryNotFoundError):
            return str(inspect(_cached(hub_id, revision)).path)
    return ""


def _is_cached(hub_id: str, name: str, commit: str) -> bool:
    return isinstance(try_to_load_from_cache(hub_id, name, revision=commit), str)


def _counter(due: int) -> type[tqdm]:
    """Make the class of the library's progress bars, which writes how many bytes came in place of a bar."""

    class Counter(tqdm):
        done = 0

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.counts = options.pop("name", "") == "huggingface_hub.snapshot_download"
            super().__init__(*arguments, **{**options, "disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            if self.counts and n:
                Counter.done += int(n)
                apart.say(done=min(Counter.done, due), due=due)

    return Counter


def _require_model(hub_id: str, wanted: list[str], files: Collection[str]) -> None:
    """Refuse what cannot be a model for us before its gigabytes come."""
    if "config.json" in wanted and any(name.endswith(".safetensors") for name in wanted):
        return
    if other := other_kind(set(files), {}):
        raise BadCheckpoint(f"{hub_id} {other[0]}. {other[1]}")
    kinds = sorted({kind for name in files if (kind := WEIGHTS_ELSEWHERE.get(Path(name).suffix))})
    only = f", only {' and '.join(kinds)} weights" if kinds else ""
    way_out = "Download a GGUF file of it and give that" if "GGUF" in kinds else "Look for another repository of it"
    raise BadCheckpoint(
        f"{hub_id} has no config.json with *.safetensors beside it{only}, so Drafthouse cannot run it as it is. "
        f"{way_out} ({_link(hub_id)})."
    )


def _require_content(hub_id: str, told: Any, file: Path) -> None:
    """Compare a file that came with the hash that the hub gave for it; the library compares only sizes."""
    named = told.lfs.sha256 if told.lfs else told.blob_id
    if named and len(named) in (SHA1, SHA256) and named != _hash(file, len(named)):
        file.resolve().unlink()
        file.unlink()
        raise BadCheckpoint(
            f"{told.rfilename} of {hub_id} is not what the hub announced: its hash is another. The file was removed. "
            f"{FETCH_AGAIN}"
        )


def _hash(file: Path, digits: int) -> str:
    """SHA-256, or the hash that git gives a file."""
    digest = hashlib.sha256() if digits == SHA256 else hashlib.sha1(b"blob %d\0" % file.stat().st_size)
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: digest).hexdigest()


def _link(hub_id: str) -> str:
    return f"{constants.ENDPOINT}/{hub_id}"


def _in_words(error: Exception, hub_id: str, revision: str) -> Exception:
    """Return an error whose sentence says what happened, why, and what to do."""
    link, reason = _link(hub_id), _reason(error)
    at = f" at {revision}" if revision else ""
    match error:
        case BadCheckpoint():
            return error
        case errors.GatedRepoError():
            return BadCheckpoint(f"{hub_id} is gated.{reason} Ask for access at {link}, then {TAKE_A_TOKEN}.")
        case errors.RevisionNotFoundError():
            return BadCheckpoint(
                f"{hub_id} has no revision {revision} on the hub.{reason} Choose one of {link}/tree/main."
            )
        case errors.RepositoryNotFoundError() | errors.DisabledRepoError():
            return BadCheckpoint(
                f"The hub gives no {hub_id} ({link}).{reason} Check the name; if it is private, {TAKE_A_TOKEN}."
            )
        case errors.HfHubHTTPError() if error.response.status_code in (401, 403):
            return BadCheckpoint(f"The hub refuses {hub_id} ({link}).{reason} If the token is wrong, {TAKE_A_TOKEN}.")
        case errors.HfHubHTTPError() if error.response.status_code == httpx2.codes.TOO_MANY_REQUESTS:
            return NotNow(f"The hub answers too many requests from here and gave no {hub_id}.{reason} Try again later.")
        case errors.LocalEntryNotFoundError() if constants.is_offline_mode():
            return Unreachable(
                f"HF_HUB_OFFLINE is set, and {hub_id}{at} is not whole in {constants.HF_HUB_CACHE}. Unset it, or copy "
                f"the model there. {UPLOAD_INSTEAD}"
            )
    return _trouble(error, hub_id)


def _trouble(error: Exception, hub_id: str) -> Exception:
    if is_disk_full(error) or "os error 28" in str(error):
        return NotNow(DISK_FULL)
    if "Consistency check failed" in str(error):
        return BadCheckpoint(f"A file of {hub_id} has another size than the hub announced. {FETCH_AGAIN}")
    if isinstance(error, (PermissionError, NotADirectoryError, IsADirectoryError)) or (
        isinstance(error, OSError) and error.errno == errno.EROFS
    ):
        return Unreachable(
            f"The cache of models cannot be used: {error.filename}: {error.strerror}. Make {constants.HF_HOME} "
            "writable for the user that runs Drafthouse, or name another folder in HF_HOME."
        )
    return Unreachable(
        f"{hub_id} could not be fetched from the hub at {constants.ENDPOINT} ({type(error).__name__}). Is this machine "
        f"connected? {UPLOAD_INSTEAD}"
    )


def _reason(error: Exception) -> str:
    """Return the hub's own words as a sentence, if it said any."""
    told = (getattr(error, "server_message", None) or "").strip().rstrip(".")
    return f" {told[:300]}." if told else ""

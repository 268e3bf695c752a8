"""`python -m worker.fetching commit NAME REVISION`: which commit of the hub that is.
`python -m worker.fetching model NAME COMMIT FOLDER SIZES`: a model from the hub, weights as safetensors alone."""

from __future__ import annotations

import fnmatch
import json
import shutil
import sys
from pathlib import Path

from webapp.core.disk import is_disk_full
from worker import leash

WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]
REFUSED, UNREACHABLE = 3, 4  # exit codes; what is said last says why


def main(wish: str, hub_id: str, revision: str, *where: str) -> int:
    leash.put_on()
    from huggingface_hub import errors  # seldom needed, and not small

    try:
        if wish == "commit":
            sys.stdout.write(_commit(hub_id, revision))
        else:
            _fetch(hub_id, revision, Path(where[0]), Path(where[1]))
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.GatedRepoError) as error:
        sys.stdout.write(
            f"The hub gives no {hub_id}{f' at {revision}' if revision else ''}: {str(error).splitlines()[0]} Check the "
            "name; for a gated model set HF_TOKEN where the workers run."
        )
        return REFUSED
    except Exception as error:  # whatever the network and its libraries raise
        sys.stdout.write(
            str(error)
            if is_disk_full(error)
            else f"{hub_id} could not be fetched from the hub ({type(error).__name__}). Is this machine connected? "
            "A model can also be uploaded, or named by a path."
        )
        return UNREACHABLE
    return 0


def _commit(hub_id: str, revision: str) -> str:
    from huggingface_hub import HfApi

    return str(HfApi().model_info(hub_id, revision=revision or None).sha)


def _fetch(hub_id: str, commit: str, folder: Path, sizes: Path) -> None:
    from huggingface_hub import HfApi, snapshot_download

    files = HfApi().model_info(hub_id, revision=commit, files_metadata=True).siblings or []
    wanted = {one.rfilename: one.size or 0 for one in files if _is_wanted(one.rfilename)}
    part = sizes.with_suffix(".part")
    part.write_text(json.dumps(wanted))
    part.rename(sizes)
    snapshot_download(hub_id, revision=commit, local_dir=folder, allow_patterns=WANTED)
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # its notes for going on with a download


def _is_wanted(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in WANTED)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""`python -m worker.fetching NAME REVISION FOLDER`: a model from the hub. Weights as safetensors alone."""

from __future__ import annotations

import sys

from worker import leash

WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]
REFUSED, UNREACHABLE = 3, 4  # exit codes; what is said last says why


def main(hub_id: str, revision: str, folder: str) -> int:
    leash.put_on()
    from huggingface_hub import errors, snapshot_download  # seldom needed, and not small

    try:
        snapshot_download(hub_id, revision=revision or None, local_dir=folder, allow_patterns=WANTED)
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.GatedRepoError) as error:
        sys.stdout.write(
            f"The hub gives no {hub_id}{f' at {revision}' if revision else ''}: {str(error).splitlines()[0]} Check the "
            "name; for a gated model set HF_TOKEN where the workers run."
        )
        return REFUSED
    except Exception as error:  # whatever the network and its libraries raise
        sys.stdout.write(
            f"{hub_id} could not be fetched from the hub ({type(error).__name__}). Is this machine connected? "
            "A model can also be uploaded, or named by a path."
        )
        return UNREACHABLE
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

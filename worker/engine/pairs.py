"""A pair, resident and fit to run."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import partial

import torch
import transformers

from decoding.devices import device_called
from decoding.pair import Pair
from decoding.pairs import check_pair
from decoding.spec import Choice
from decoding.ssd.resident import process_for
from worker.engine.residents import Residents, Spot
from worker.messages import Loaded, PairPlace


def load_pair(place: PairPlace, residents: Residents, choices: Sequence[Choice] = ()) -> tuple[Pair, Loaded]:
    """The pair, and what there is to say about it and about what runs each choice."""
    check_pair(place.target, place.draft).require()
    device = str(device_called(place.device))
    spot = Spot(place.target, device, "target")
    target = residents.load(spot)
    draft = residents.load(Spot(place.draft, device, "draft"), keep=spot)
    facts = target.runner.facts
    pair = Pair(
        target=target.runner,
        draft=draft.runner,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path,
        classifier_at=place.classifiers.get,
        fingerprints=(target.folder.fingerprint, draft.folder.fingerprint),
        draft_process=process_for(draft.folder.path, "auto", draft.runner.context),
        again=partial(_pair_again, place),
    )
    hardware: dict[str, object] = {
        "device": facts.device,
        "device_name": facts.device_name,
        "dtype": facts.dtype,
        "cores": os.cpu_count(),
        "threads": facts.threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # its own kind of text would make the worker load torch to read it
        "transformers": transformers.__version__,
        "by_strategy": {choice.label: pair.hardware_of(choice) for choice in choices},
    }
    return pair, Loaded(hardware, {choice.label: pair.runner_of(choice) for choice in choices})


def _pair_again(place: PairPlace) -> Pair:
    """Where nothing is resident yet."""
    return load_pair(place, Residents())[0]

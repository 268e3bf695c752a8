"""Load a pair, or a target alone, from its model folders, and describe it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import transformers

from decoding.backends.contestants.servers.servers_only import ServersOnly
from decoding.choice import Choice
from decoding.models.checkpoints import LoadedModel
from decoding.models.devices import set_threads, usual_threads
from webapp.core.hub import HubModel
from worker.engine.pairs import ready_pair
from worker.engine.residents import Residents
from worker.memory import lengths_of, run_size
from worker.pairs import ReadyPair, describe_machine
from worker.terminal.arguments import Arguments
from worker.terminal.bench import Bench
from worker.terminal.guarded import allow


@dataclass(frozen=True)
class LoadedPair(ReadyPair):
    name: str = ""

    @property
    def threads(self) -> int:
        return self.target.runner.facts.threads

    def lines(self) -> list[str]:
        """Describe models and machine, for people."""
        facts = self.target.runner.facts
        target = f"target {_size(self.target.folder.parameters)}"
        draft = f", draft {_size(self.draft.folder.parameters)} parameters" if self.draft else " parameters, no draft"
        threads = f"{facts.threads} thread" + ("s" if facts.threads > 1 else "")
        return [
            f"{self.name}: {target}{draft}",
            f"{facts.device_name}, {threads}, {facts.runner} runner, {facts.dtype} on {facts.weights} weights",
        ]

    def about(self) -> dict[str, Any] | None:
        """Describe the models, for the JSON document."""
        return {"name": self.name, "target": _about(self.target), "draft": self.draft and _about(self.draft)}


@dataclass(frozen=True)
class LoadedServers:
    """No model of ours: servers alone."""

    pair: ServersOnly
    remarks: tuple[str, ...] = ()
    threads: int = 1  # of ours, which only read answers

    def lines(self) -> list[str]:
        return ["Servers alone"]

    def about(self) -> None:
        return None

    def hardware(self, choices: Sequence[Choice], longest: int) -> dict[str, Any]:
        machine = "the servers' own"
        return describe_machine(device=machine, device_name=machine, threads=0) | {
            "by_strategy": {choice.label: self.pair.hardware_of(choice) for choice in choices}
        }


def _size(parameters: int) -> str:
    return f"{parameters / 1e9:.1f}B" if parameters >= 1e9 else f"{parameters / 1e6:.1f}M"


def load_pair(bench: Bench) -> LoadedPair:
    make_ready(bench, _need(bench))
    ready = ready_pair(bench.pair, Residents())
    ready.pair.classifier_at = bench.material.classifier_at
    return LoadedPair(**vars(ready), name=bench.material.name)


def make_ready(bench: Bench, memory: int) -> None:
    """Set the threads, and allow the work so many bytes."""
    transformers.utils.logging.disable_progress_bar()  # we draw our own
    transformers.utils.logging.set_verbosity_error()
    allow(memory)
    set_threads(bench.threads or usual_threads())


def _need(bench: Bench) -> int:
    new_tokens = bench.sampling.max_new_tokens
    choices = bench.choices if isinstance(bench, Arguments) else ()
    is_recorded = not isinstance(bench, Arguments)
    lengths = lengths_of(bench.prompts, new_tokens)
    return run_size(bench.material.report.models, lengths, new_tokens, choices, is_recorded=is_recorded)


def _about(model: LoadedModel) -> Mapping[str, Any]:
    return {
        "folder": str(model.folder.path),
        **({"hub": f"{known.hub_id}@{known.revision}"} if (known := HubModel.of_folder(model.folder.path)) else {}),
        "family": model.folder.family,
        "parameters": model.folder.parameters,
        "stored_as": model.folder.dtype,
        "fingerprint": model.folder.fingerprint,
        **({"gguf": str(model.folder.origin)} if model.folder.origin else {}),
        **dataclasses.asdict(model.runner.facts),
    }

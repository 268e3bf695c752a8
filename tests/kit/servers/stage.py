"""A small exact world and a server that decodes it: a pair here, and the same greedy texts over the wire."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.servers.answer import Sleep
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.backends.contestants.servers.running import Servers
from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose
from decoding.core.ending import Decoded, Ending
from decoding.core.load import ONE, Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BrokenModel
from decoding.measure.measurement import Measurement
from decoding.measure.schedule import SampleKey
from decoding.models.tokenizer_files import Tokenizer
from decoding.prompts.prompt import PromptItem
from decoding.trace.events import Event, Recorder
from tests.kit.pairs import PROMPTS, Letters, pair
from tests.kit.servers.formats import Decode, speaking
from tests.kit.servers.wire import Script, Wire, serving

StepsFor = Callable[[Any, int], list[list[int]]]
GREEDY = Sampling(max_new_tokens=12)
LETTERS = Letters()


def greedy(prompt: Any, room: int, models: ModelPair | None = None) -> list[int]:
    """The target's own greedy text."""
    text = prompt if isinstance(prompt, str) else LETTERS.decode(prompt)
    alone = Measurement(
        models or pair(), [PromptItem(text, text)], [choose("autoregressive")], Sampling(max_new_tokens=room)
    )
    return alone.decode(SampleKey(alone.choices[0], alone.prompts[0], 0), Recorder()).tokens


def in_steps(tokens: Sequence[int], sizes: Sequence[int] = (1, 3, 1, 5, 2)) -> list[list[int]]:
    """Cut a text into what each verification gave; the first token comes with the prompt."""
    edges = [*itertools.takewhile(lambda edge: edge < len(tokens), itertools.accumulate(sizes)), len(tokens)]
    return [list(tokens[start:end]) for start, end in itertools.pairwise([0, *edges])]


def honest(prompt: Any, room: int) -> list[list[int]]:
    return in_steps(greedy(prompt, room))


def truthful(dialect: str) -> Script:
    """Script of a server that decodes the target's greedy texts."""
    return speaking(dialect, honest, LETTERS.decode)


def server_choice() -> Choice:
    return choose("server", {"name": "it"})


def reach(wire: Wire, dialect: str, certificates: str = "", **settings: Any) -> Reach:
    spec = EndpointSpec("it", wire.address, dialect, **settings)
    return Reach({"it": spec}, {spec.key: spec.key}, TERMINAL, certificates)


@contextmanager
def comparing(
    script: Script, dialect: str, models: ModelPair | None = None, **settings: Any
) -> Iterator[tuple[Measurement, Wire]]:
    """A comparison of autoregressive here with the server of this script."""
    with serving(script) as wire:
        models = models or pair()
        models.servers = reach(wire, dialect, **settings)
        choices = [choose("autoregressive"), server_choice()]
        models.begin(choices)
        try:
            yield Measurement(models, PROMPTS, choices, GREEDY), wire
        finally:
            models.close()


Told = list[tuple[Decoded | BrokenModel, list[Event]]]  # answers, and the events of each
Asking = Callable[..., Told]


def answers_of(
    servers: Servers,
    texts: Sequence[str],
    tokenizer: Tokenizer | None,
    sampling: Sampling = GREEDY,
    load: Load = ONE,
) -> Told:
    """Ask for texts, with ids where there is a tokenizer."""
    chosen, ending = server_choice(), Ending((), (), tokenizer.decode if tokenizer else None)
    requests = [
        Request(chosen, tokenizer.encode(text) if tokenizer else [], sampling, seed, ending, text)
        for seed, text in enumerate(texts)
    ]
    sinks: dict[Request, Recorder] = {}
    found = servers.run(requests, lambda request: sinks.setdefault(request, Recorder()), never, load)
    return [(answer, sinks[request].events if request in sinks else []) for request, answer in found]


def asked(
    address: str, dialect: str, *texts: str, tokenizer: Tokenizer | None = None, model: str = "", load: Load = ONE,
    **sampling: Any,
) -> Told:  # fmt: skip
    """Ask a real server."""
    servers = Servers(Reach({"it": EndpointSpec("it", address, dialect, model)}, allowed=TERMINAL), tokenizer)
    servers.begin([server_choice()])
    try:
        return answers_of(servers, texts, tokenizer, Sampling(**sampling), load)
    finally:
        servers.close()


@contextmanager
def asking(
    script: Script,
    dialect: str = "llamacpp",
    tls: Any = None,
    sleep: Sleep = asyncio.sleep,
    tokenizer: Tokenizer | None = LETTERS,
    **settings: Any,
) -> Iterator[tuple[Asking, Wire]]:
    """Ask the server of this script, with the local tokenizer, or without one, and without a model."""
    with serving(script, tls) as wire:
        servers = Servers(reach(wire, dialect, **settings), tokenizer, sleep)
        try:
            yield lambda *texts, **how: answers_of(servers, texts, tokenizer, **how), wire
        finally:
            servers.close()


def greedy_steps(folder: Path) -> StepsFor:
    """Greedy texts of the model, in the steps of a speculating server."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def steps(prompt: Any, room: int) -> list[list[int]]:
        ids = tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        made = model.generate(torch.tensor([ids]), max_new_tokens=room, do_sample=False, eos_token_id=None)
        return in_steps(made[0, len(ids) :].tolist())

    return steps


def streamed_words(folder: Path) -> Decode:
    """Decode as a server that streams: each token is a word with the space before it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda tokens: "".join(f" {tokenizer.decode([token])}" for token in tokens)

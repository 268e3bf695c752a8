"""Servers on the command line: --server ADDRESS,dialect=…, --start COMMAND."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from decoding.backends.contestants.servers import SERVER
from decoding.backends.contestants.servers.dialects import DIALECTS, dialect_called, dialect_of
from decoding.backends.contestants.servers.endpoint import (
    CERTIFICATES,
    DTYPES,
    USUAL_DEADLINE_S,
    EndpointSpec,
    Reach,
    key_of,
)
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.choice import Choice, choose
from decoding.errors import BadServer, meant

PORT = "{port}"
NOT_YET = "http://127.0.0.1:1"  # until a started server has its port
HIDDEN = "(hidden)"
SECRETS = {"key", "token", "secret", "password"}
SETTINGS = (
    "name",
    "dialect",
    "model",
    "key-file",
    "key-env",
    "deadline",
    "dtype",
)
SERVER_HELP = (
    "a server to compare with, such as http://127.0.0.1:8080,dialect=llamacpp; more settings: name, model, key-file, "
    "key-env, dtype, deadline; may be given several times"
)
START_HELP = (
    "start a server and compare with it, such as 'llama-server -m target.gguf -md draft.gguf --port {port}'; may begin "
    "with NAME= and be given several times"
)


@dataclass(frozen=True)
class AskedServer:
    spec: EndpointSpec
    command: tuple[str, ...] = ()  # to start it; empty: it runs already

    @property
    def choice(self) -> Choice:
        return choose(SERVER.slug, {"name": self.spec.name})


def asked_servers(given: Sequence[str], started: Sequence[str]) -> tuple[AskedServer, ...]:
    """Read all servers of a command line. Each gets a name of its own."""
    found = [*map(parse_server, given), *map(parse_start, started)]
    taken: dict[str, int] = {}
    named = []
    for one in found:
        name = one.spec.name
        taken[name] = taken.get(name, 0) + 1
        own = name if taken[name] == 1 else f"{name}-{taken[name]}"
        named.append(replace(one, spec=replace(one.spec, name=own)))
    names = [one.spec.name for one in named]
    for name in names:
        if names.count(name) > 1:
            raise BadServer(f"Two servers are called {name}. Give each a name of its own.")
    return tuple(named)


def to_ask(servers: Sequence[AskedServer]) -> Reach:
    """Collect addresses, and keys from their files and variables."""
    specs = {one.spec.name: one.spec for one in servers}
    keys = {spec.key: key_of(spec.key) for spec in specs.values() if spec.key}
    return Reach(specs, keys, TERMINAL, os.environ.get(CERTIFICATES, ""))


def about(server: AskedServer, serves: str) -> dict[str, str]:
    """Describe a server, and the model that it serves, for the JSON document. Its key is named nowhere."""
    spec, dialect = server.spec, dialect_called(server.spec.dialect)
    return {
        "label": server.choice.label,
        "address": spec.address,
        "dialect": spec.dialect,
        "model": serves,
        "dtype": spec.rounding,
        "command": shown(server.command),
        "prefix_cache": dialect.cache,
    }


def shown(command: Sequence[str]) -> str:
    """Write a command without the keys in it."""
    words = []
    for before, word in zip(("", *command), command, strict=False):
        name, equals, _ = word.partition("=")
        words.append(
            f"{name}={HIDDEN}" if equals and _holds_secret(name) else HIDDEN if _holds_secret(before) else word
        )
    return shlex.join(words)


def _holds_secret(option: str) -> bool:
    return option.startswith("-") and "=" not in option and bool(SECRETS & set(option.lstrip("-").split("-")))


def parse_server(text: str) -> AskedServer:
    """Read `http://127.0.0.1:8080,dialect=llamacpp,name=mine`."""
    address, *pieces = text.split(",")
    settings: dict[str, str] = {}
    for piece in pieces:
        name, equals, value = piece.partition("=")
        name = name.strip()
        if name == "key":  # the process list shows it to everybody
            raise BadServer("A key does not belong on the command line. Put it into a file and give key-file=FILE.")
        if not equals or name not in SETTINGS:
            raise BadServer(
                f"{piece[:40]!r} is not a setting of a server; there are {', '.join(SETTINGS)}.{meant(name, SETTINGS)}"
            )
        if name in settings:
            raise BadServer(f"A server is given {name} twice; give it once.")
        settings[name] = value.strip()
    return _server(address.strip(), settings)


def _server(address: str, settings: dict[str, str]) -> AskedServer:
    if "dialect" not in settings:
        raise BadServer(f"{address[:80]} has no dialect; add ,dialect=NAME, one of {', '.join(DIALECTS)}.")
    dialect = dialect_called(settings["dialect"])
    spec = EndpointSpec(
        name=settings.get("name", dialect.name),
        address=address,
        dialect=dialect.name,
        model=settings.get("model", ""),
        key=_key(settings),
        deadline_s=_seconds(settings["deadline"]) if "deadline" in settings else USUAL_DEADLINE_S,
        dtype=settings.get("dtype", ""),
    )
    return AskedServer(spec)


def _key(settings: dict[str, str]) -> str:
    if "key-file" in settings and "key-env" in settings:
        raise BadServer("A server is given key-file and key-env; give one.")
    if "key-file" in settings:
        return f"file:{settings['key-file']}"
    return f"env:{settings['key-env']}" if "key-env" in settings else ""


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadServer(f"deadline={text[:40]} is not a number of seconds.") from None


def parse_start(text: str) -> AskedServer:
    """Read `NAME=llama-server -m … --port {port}`; the program's name tells the dialect."""
    head, equals, rest = text.partition("=")
    has_name = bool(equals) and head.strip().replace("-", "").replace("_", "").isalnum() and " " not in head.strip()
    try:
        words = shlex.split(rest if has_name else text)
    except ValueError as error:
        raise BadServer(f"{text[:80]!r} is not a command: {error}.") from None
    if not any(PORT in word for word in words):
        raise BadServer(f"{text[:80]!r} has no {PORT}, so the server cannot be given a free port. Add --port {PORT}.")
    dialect = dialect_of(words[0])
    if not dialect:
        programs = (program for each in DIALECTS.values() for program in each.programs)
        raise BadServer(
            f"{words[0][:80]} is not a server that Drafthouse knows; it can start {', '.join(programs)}. Start this "
            "one yourself and give --server."
        )
    model = dialect_called(dialect).model_in(words)
    spec = EndpointSpec(head.strip() if has_name else dialect, NOT_YET, dialect, model, dtype=_dtype_in(words))
    return AskedServer(spec, command=tuple(words))


def _dtype_in(command: Sequence[str]) -> str:
    """Find the number format that a command starts its server with; empty if it names none."""
    words = [part for word in command for part in word.split("=", 1)]
    found = dict(itertools.pairwise(words)).get("--dtype", "")
    return found if found in DTYPES else ""
